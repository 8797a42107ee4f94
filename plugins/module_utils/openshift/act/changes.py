"""Each change that an upgrade of OpenShift makes: channel and desired update, pools held and let go, the pauses of
MachineHealthChecks, spare workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from ...common.task import Task
from ...common.verdict import Reason
from ...kubernetes.client import KubernetesClient
from ...run.lock.lease import lease_at
from ...run.lock.lock_watch import Writers
from ...run.undo.temporary_changes import change, put_back
from ...run.undo.undo import Change
from ..observe.kinds import (
    MAX_UNAVAILABLE,
    PAUSE_OF_CHECK,
    PAUSED,
    VERSION,
    health_check_path,
    machine_set_path,
    pool_path,
)
from ..observe.machine_state import MachineSet
from ..observe.state import ClusterVersion, Update

STAYS = 60.0
"""Seconds after which a channel that was set has stayed: what sets it back, such as Argo CD, does so within seconds."""


def is_known(made: Change) -> bool:
    """Whether a run of this collection makes such a change of a MachineConfigPool."""
    if made.path == MAX_UNAVAILABLE:
        return isinstance(made.set_to, int) and (made.was is None or isinstance(made.was, (int, str)))
    return made.path == PAUSED and made.was in (None, False) and made.set_to is True


def is_pause_of_check(made: Change) -> bool:
    """Whether a run of this collection makes such a change of a MachineHealthCheck."""
    return made.path == PAUSE_OF_CHECK and made.was is None and made.set_to == ""


class Acts:
    """The acts of one task."""

    def __init__(self, task: Task, client: KubernetesClient) -> None:
        self._task, self._client = task, client
        self._writers = Writers(task, partial(lease_at, client), "openshift_upgrade")
        self._channel, self._set_back, self._set_at = "", "", 0.0

    def hold(self, pool: str, most: int | None = None) -> bool:
        """Pause a pool, so that the machine config operator takes no further Kubernetes node of it.

        Those that it has taken are updated to the end (machine-config-operator, `syncMachineConfigPool`). With `most`
        no more than so many will be away at once when it is let go.
        """
        wanted = {PAUSED: True, **({MAX_UNAVAILABLE: most} if most is not None else {})}
        return change(self._task, self._client, pool_path(pool), wanted, is_known, self._writers.judge)

    def let_go(self, pool: str) -> tuple[Reason, ...]:
        """End the pause of a pool. The result names a value that another has changed since."""
        return self._put_back(pool, lambda made: made.path == PAUSED)

    def put_back(self, pool: str) -> tuple[Reason, ...]:
        """Put a pool back as it was before a run held it. The result names a value that another has changed since."""
        return self._put_back(pool, lambda _made: True)

    def _put_back(self, pool: str, part: Callable[[Change], bool]) -> tuple[Reason, ...]:
        return put_back(self._task, self._client, pool_path(pool), is_known, self._writers.judge, part)[1]

    def pause_check(self, name: str) -> bool:
        """Pause a MachineHealthCheck, so that it replaces no machine."""
        path = health_check_path(name)
        return change(self._task, self._client, path, {PAUSE_OF_CHECK: ""}, is_pause_of_check, self._writers.judge)

    def put_check_back(self, name: str) -> tuple[Reason, ...]:
        """End the pause of a MachineHealthCheck. The result names a value that another has changed since."""
        path = health_check_path(name)
        return put_back(self._task, self._client, path, is_pause_of_check, self._writers.judge)[1]

    def set_channel(self, seen: ClusterVersion, channel: str) -> None:
        """Set the channel, for good, and only if the ClusterVersion is the one that was seen."""
        if self._channel == channel:
            self._set_back = seen.channel or "none"
        self._set(seen, "set_channel", {"channel": channel}, channel)
        self._channel, self._set_at = channel, self._task.clock.now()

    @property
    def channel_set_back(self) -> str:
        """The channel that something else has set after this task has set another one; empty once that has stayed."""
        return self._set_back if self._task.clock.now() - self._set_at < STAYS else ""

    def commence(self, seen: ClusterVersion, update: Update) -> None:
        """Set the desired update, once, and only if the ClusterVersion is the one that was seen.

        With an image the version is compared with that of the image (openshift/api, `Update.image`). Nothing stays of
        an update that was desired before, but for the risks that a person accepts: with its `force` this one would be
        taken without any check, and with its `architecture` it would be refused for its image.
        """
        wanted = {"version": update.version, "image": update.image}
        self._set(seen, "commence", {"desiredUpdate": {**dict.fromkeys(seen.wanted_more), **wanted}}, wanted)

    def _set(self, seen: ClusterVersion, action: str, spec: Mapping[str, Any], shown: Any) -> None:
        body = {"metadata": {"resourceVersion": seen.resource_version}, "spec": dict(spec)}
        with self._acting(action, "ClusterVersion version", {"set": shown}) as dry_run:
            self._client.patch(VERSION, body, "merge", dry_run=dry_run)

    def add(self, body: Mapping[str, Any]) -> None:
        """Make a spare MachineSet. It carries its mark from the start, so that any later run knows it.

        Raises:
            Conflict: there is a set of this name by now.
        """
        with self._acting("added", f"MachineSet {body['metadata']['name']}", {}) as dry_run:
            self._client.post(machine_set_path(), body, dry_run=dry_run)

    def judge_maker(self, spare: MachineSet) -> None:
        """Check that the run which made a spare MachineSet does not live, if it is not this one. Raises Refusal."""
        if spare.mark is not None:
            self._writers.judge(spare.mark.writer)

    def remove(self, spare: MachineSet) -> None:
        """Delete a spare MachineSet, whose machines and Kubernetes nodes go with it.

        Raises:
            Refusal: its run lives.
        """
        self.judge_maker(spare)
        with self._acting("removed", f"MachineSet {spare.name}", {}) as dry_run:
            self._client.delete(machine_set_path(spare.name), spare.uid, dry_run=dry_run)

    @contextmanager
    def _acting(self, action: str, target: str, details: Mapping[str, Any]) -> Iterator[bool]:
        """A block that makes one act, which is noted. It gets whether the act is only tried, as in check mode."""
        if not self._task.check_mode:
            self._task.still_wanted()
        with self._task.journal.doing((action, target, details)):
            yield self._task.check_mode
