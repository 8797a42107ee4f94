"""An UpgradeConfig that requests the upgrade of a story: people change it, delete it, and make it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.runs.observer.watching import asking
from tests.runs.turns import OneRun
from tests.runs.upgrade_configs import UpgradeConfigs
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.kinds import CURRENT, DESIRED, POOLS, annotations_of
from tests.sandbox.openshift.observer import PERSON
from tests.sandbox.openshift.openshift import OpenShift

CHANGES: tuple[Mapping[str, Any], ...] = ({"PDBForceDrainTimeout": 30}, {"type": "ARO"}, {})
"""The changes of a spec that a person makes midway; with each one the time of the start is another one."""
UPGRADED = "Upgraded"


class Requested(UpgradeConfigs):
    """It notes the workers that are taken for a request that is gone, beyond those of the batch under way."""

    def __init__(self, here: World, openshift: OpenShift, version: str, most: int, **spec: Any) -> None:
        """`most` is the number of Kubernetes nodes of a batch at most."""
        super().__init__(here, openshift)
        self._version, self._most, self._spec = version, most, spec
        self._let_go_by: dict[str, OneRun | None] = {}
        self._taken: list[str] = []
        """The workers that were taken by a run since the request was deleted or changed."""
        self._stopped = False
        self._unread = False
        """Whether it was made again, and no run has started since, so that none has answered it."""
        self.times = 0
        """The times of a start that it has named."""
        self.breaches: list[str] = []
        openshift.resources.store.listeners.append(self._changed)
        self.wish()

    def wish(self, **more: Any) -> None:
        """Ask for the upgrade, now and as it is wanted at last."""
        self._spec = {**self._spec, **more}
        self.times += 1
        self.request(self._version, **self._spec)

    def change(self, number: int) -> None:
        """Change it, if it is there."""
        if self.is_there:
            self.wish(**CHANGES[number % len(CHANGES)])
            self._stop()

    def delete(self) -> None:
        """Delete it, if it is there."""
        if self.is_there:
            self.withdraw()
            self._stop()

    def make_again(self) -> None:
        """Make it again, if it is not there."""
        if not self.is_there:
            self.wish()
            self._unread = True

    def read_again(self) -> None:
        """A run starts, which reads it as it is by now."""
        self._stopped = self._unread = False

    def _stop(self) -> None:
        self._stopped, self._taken = True, []

    @property
    def is_there(self) -> bool:
        """Whether it is there."""
        return any(self.openshift.resources.store.each(self.requests))

    def _changed(self, change: Change) -> None:
        if change.before is None or change.type == "DELETED":
            return
        name = change.item["metadata"]["name"]
        if change.kind == POOLS and change.before["spec"].get("paused") and not change.item["spec"].get("paused"):
            writes = self.openshift.observer.writes_of("spec.paused")
            self._let_go_by[name] = None if writes and writes[-1][0] == PERSON else asking()
        if change.kind != NODES or not self._stopped:
            return
        found = annotations_of(change.item)
        if found.get(DESIRED) in (annotations_of(change.before).get(DESIRED), found.get(CURRENT)):
            return
        run = self._let_go_by.get(self._pool_of(name))
        if run is not None and run.is_at_work:
            self._taken.append(name)
            if len(self._taken) > self._most:
                self.breaches.append(f"{name} is taken, and the request was changed or deleted before its batch")

    def _pool_of(self, node: str) -> str:
        return next(
            (pool.name for pool in self.openshift.described.pools if any(each.name == node for each in pool.nodes)),
            "",
        )

    def whole(self) -> Iterator[str]:
        """The things that are missing in the answer to an upgrade that is completed."""
        if self._unread:
            return
        entries = self.history()
        of_target = [each for each in entries if each.get("version") == self._version]
        if len(of_target) != 1 or len(entries) != 1:
            yield f"the history has {len(of_target)} entries of {self._version}, and {len(entries)} in all"
            return
        (entry,) = of_target
        if entry["phase"] != UPGRADED:
            yield f"the phase of the request is {entry['phase']}"
        names = [each["type"] for each in entry["conditions"]]
        yield from (f"the condition {each} is there twice" for each in {*names} if names.count(each) > 1)
        yield from (
            f"the condition {each['type']} is {each['status']}"
            for each in entry["conditions"]
            if each["status"] != "True"
        )
        for name in ("SendStartedNotification", "SendCompletedNotification"):
            if name not in names:
                yield f"the condition {name} is missing"
        if self.state() != "completed":
            yield f"the state of the request is {self.state()}"
