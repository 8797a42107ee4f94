"""The daemon on each Kubernetes node: it has the node drained, restarts it in another configuration, and opens it.

`update` and `completeUpdate` in `pkg/daemon`, `performDrain` in `pkg/daemon/drain.go` of machine-config-operator.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.kinds import (
    CURRENT,
    DEGRADED,
    DESIRED,
    DESIRED_DRAIN,
    DONE,
    LAST_DRAIN,
    POST_ACTION,
    REASON,
    SINGLE_REPLICA,
    STATE,
    TOPOLOGY,
    UNRECONCILABLE,
    WORKING,
    annotations_of,
)

POLL, AGAIN = 10.0, 60.0
"""Seconds between two looks at what was asked for, and before another attempt after a failure."""
DRAIN_LIMIT, UNCORDON_LIMIT = 3600.0, 600.0
"""After so long the daemon says that it is degraded, and asks again."""


class Daemons:
    """`reboots` are called with each Kubernetes node that restarts; `slow` says which of them takes long."""

    def __init__(self, shared: Shared, slow: Callable[[str], bool]) -> None:
        self._shared, self._slow = shared, slow
        self._hand = shared.hand("machine-config-daemon")
        self._busy: set[str] = set()
        self.never_returns: set[str] = set()
        """Kubernetes nodes that do not come back from a restart."""
        self.needs_no_restart = False
        """Whether a configuration is applied without a drain and a restart, as those are that a policy exempts
        (`calculatePostConfigChangeNodeDisruptionAction` in `pkg/daemon/update.go`)."""
        self.breaks: dict[str, str] = {}
        """By Kubernetes node: the reason why its daemon cannot apply a configuration."""
        self.reboots: list[Callable[[str], None]] = []
        self.boots: list[Callable[[str, str], None]] = []
        """Called with each Kubernetes node that is back, and with its configuration."""
        shared.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind != NODES or change.type == "DELETED":
            return
        found, name = annotations_of(change.item), change.item["metadata"]["name"]
        if found.get(CURRENT) and found.get(DESIRED) != found.get(CURRENT) and name not in self._busy:
            self._busy.add(name)
            self._later(name, self._shared.pace.daemon, self._work)

    def _later(self, name: str, seconds: float, act: Callable[[str], None]) -> None:
        """Do something on a Kubernetes node that is there and has power; else as soon as it has."""

        def now() -> None:
            if self._shared.kept(NODES, name) is None:
                self._busy.discard(name)
            elif name in self._shared.kubernetes.nodes.dead:
                self._shared.clock.later(AGAIN, now)
            else:
                act(name)

        self._shared.clock.later(seconds, now)

    def _annotate(self, name: str, said: dict[str, str]) -> None:
        self._hand.change(NODES, "", name, lambda item: item["metadata"]["annotations"].update(said))

    def _found(self, name: str) -> dict[str, str]:
        found = self._shared.kept(NODES, name)
        return annotations_of(found) if found is not None else {}

    def _work(self, name: str) -> None:
        if self._found(name).get(STATE) not in {DEGRADED, UNRECONCILABLE}:
            self._annotate(name, {STATE: WORKING})
        self._later(name, self._shared.pace.prepare, self._prepared)

    def _prepared(self, name: str) -> None:
        if name in self.breaks:
            self._fail(name, self.breaks[name], self._work)
            return
        if self.needs_no_restart:
            self._annotate(name, {CURRENT: self._found(name)[DESIRED], STATE: DONE, REASON: ""})
            self._busy.discard(name)
            return
        if self._found(name).get(TOPOLOGY) == SINGLE_REPLICA:
            self._drained(name)
            return
        said = f"failed to drain node: {name} after 1 hour. Please see machine-config-controller logs"
        self._ask(name, "drain", DRAIN_LIMIT, said, self._drained)

    def _fail(self, name: str, reason: str, again: Callable[[str], None]) -> None:
        self._annotate(name, {STATE: DEGRADED, REASON: reason})
        self._later(name, AGAIN, again)

    def _ask(self, name: str, verb: str, limit: float, failure: str, then: Callable[[str], None]) -> None:
        """Have the controller drain or open it, look every ten seconds, and give up after the limit; then again."""
        wanted = f"{verb}-{self._found(name)[DESIRED]}"
        end = self._shared.clock.now() + limit

        def look(_name: str) -> None:
            if self._found(name).get(LAST_DRAIN) == wanted:
                then(name)
            elif self._shared.clock.now() >= end:
                self._fail(name, failure, lambda _again: self._ask(name, verb, limit, failure, then))
            else:
                self._later(name, POLL, look)

        self._annotate(name, {DESIRED_DRAIN: wanted})
        self._later(name, POLL, look)

    def _drained(self, name: str) -> None:
        self._annotate(name, {POST_ACTION: "Rebooting"})
        habits, pace = self._shared.habits, self._shared.pace
        slow = habits.slow_reboot if self._slow(name) else 0.0
        for each in self.reboots:
            each(name)
        self._shared.kubernetes.kubelets.node_dead(name)
        self._shared.clock.later(max(slow, pace.reboot), lambda: self._back(name))

    def _back(self, name: str) -> None:
        if self._shared.kept(NODES, name) is None:
            self._busy.discard(name)
        elif name in self.never_returns:
            self._shared.clock.later(AGAIN, lambda: self._back(name))
        else:
            self._shared.kubernetes.kubelets.mend_node(name)
            verb, _dash, drained_for = self._found(name)[DESIRED_DRAIN].partition("-")
            for each in self.boots:
                each(name, drained_for if verb == "drain" else self._found(name)[DESIRED])
            self._later(name, self._shared.pace.daemon, self._booted)

    def _booted(self, name: str) -> None:
        said = f"failed to uncordon node: {name} after 10 minutes. Please see machine-config-controller logs"
        self._ask(name, "uncordon", UNCORDON_LIMIT, said, self._done)

    def _done(self, name: str) -> None:
        """The current configuration is written last, when the Kubernetes node takes pods again (`SetDone`)."""
        self._busy.discard(name)

        def change(item: Json) -> None:
            found = item["metadata"]["annotations"]
            configured = found[DESIRED_DRAIN].partition("-")[2]
            found.update({STATE: DONE, CURRENT: configured, REASON: "", POST_ACTION: ""})

        self._hand.change(NODES, "", name, change)
