"""The events of a story of OpenShift."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.runs.random_runs.events import OF_EVERY_SYSTEM, OF_PERSON, HappeningForAWhile
from tests.runs.random_runs.openshift.requested import Requested
from tests.runs.random_runs.openshift.story import KEPT_PODS, OpenShiftStory
from tests.runs.random_runs.person import Person
from tests.runs.random_runs.story import Event
from tests.sandbox.openshift.asking import FEW
from tests.sandbox.openshift.openshift import OpenShift

REQUESTS = (
    ("PATCH", "/machineconfigpools/"),
    ("PATCH", "/clusterversions/"),
    ("PATCH", "/configmaps/"),
    ("PATCH", "/leases/"),
    ("GET", "/machineconfigpools"),
    ("GET", "/nodes"),
)
"""The kinds of requests to Kubernetes that can be spoiled."""


@dataclass
class HappeningToOpenShift(HappeningForAWhile):
    """The events of one story of OpenShift while it goes on."""

    REQUESTS = REQUESTS
    SLOWER = 20
    """Everything here takes minutes where the events of other systems take seconds."""

    openshift: OpenShift
    story: OpenShiftStory
    requested: Requested | None
    """The UpgradeConfig, if one requests the upgrade."""
    person: Person
    kills: int = 0
    """The ends of the controller until now."""

    def happen(self, event: Event) -> None:
        """Let one event happen. Raises Killed: it is the end of the controller."""
        self.kills += event.kind == "kill"
        KINDS[event.kind](self, event)

    def mend(self) -> None:
        """See `Happening`."""
        self.openshift.faults.mend_all()
        super().mend()
        if self.requested is not None:
            self.requested.make_again()

    def node_of(self, event: Event) -> str:
        """The Kubernetes node that the event is about."""
        nodes = [node.name for pool in self.story.pools for node in pool.nodes]
        return nodes[event.subject % len(nodes)]

    def pool_of(self, event: Event) -> str:
        """The pool that the event is about: none of the control plane, and none that is paused from the start."""
        names = [pool.name for pool in self.story.pools[1:] if not pool.paused]
        return names[event.subject % len(names)]


def _operator_degraded(here: HappeningToOpenShift, event: Event) -> None:
    name = FEW[event.subject % len(FEW)]
    here.openshift.faults.operator_stays_degraded(name)
    here.until(event, lambda: here.openshift.faults.operator_mended(name))


def _node_never_returns(here: HappeningToOpenShift, event: Event) -> None:
    node = here.node_of(event)
    here.openshift.faults.node_never_returns(node)
    here.until(event, lambda: here.openshift.faults.node_returns(node))


def _node_degraded(here: HappeningToOpenShift, event: Event) -> None:
    node = here.node_of(event)
    here.openshift.faults.node_degraded(node)
    here.until(event, lambda: here.openshift.faults.node_mended(node))


def _drain_blocked(here: HappeningToOpenShift, event: Event) -> None:
    _blocked(here, event)


def _drain_kept(here: HappeningToOpenShift, event: Event) -> None:
    _blocked(here, event, *KEPT_PODS[event.subject // 10 % len(KEPT_PODS)])


def _blocked(here: HappeningToOpenShift, event: Event, *of_pod: str) -> None:
    node, faults = here.node_of(event), here.openshift.faults

    def end() -> None:
        if node in faults.blocked:
            faults.drain_unblocked(node)

    if node not in faults.blocked:
        faults.drain_blocked(node, *of_pod)
        here.until(event, end)


def _request_changed(here: HappeningToOpenShift, event: Event) -> None:
    if here.requested is not None:
        here.requested.change(event.subject)


def _request_deleted(here: HappeningToOpenShift, event: Event) -> None:
    if here.requested is not None:
        here.requested.delete()
        here.until(event, here.requested.make_again)


def _person_cordons(here: HappeningToOpenShift, event: Event) -> None:
    node = here.node_of(event)
    here.openshift.faults.person_cordons(node)
    here.until(event, lambda: here.openshift.faults.person_uncordons(node))


def _person_pauses(here: HappeningToOpenShift, event: Event) -> None:
    pool = here.pool_of(event)
    if not here.openshift.pool(pool)["spec"].get("paused"):
        here.openshift.faults.person_pauses(pool)
        here.until(event, lambda: here.openshift.faults.person_unpauses(pool))


KINDS: Mapping[str, Callable[[HappeningToOpenShift, Event], None]] = {
    **OF_EVERY_SYSTEM,
    **OF_PERSON,
    "operator_degraded": _operator_degraded,
    "node_never_returns": _node_never_returns,
    "node_degraded": _node_degraded,
    "drain_blocked": _drain_blocked,
    "machine_config_away": lambda here, event: here.openshift.faults.machine_config_away((event.seconds or 60) * 10),
    "version_operator_away": lambda here, event: here.openshift.faults.version_operator_away(
        (event.seconds or 60) * 10
    ),
    "person_cordons": _person_cordons,
    "person_pauses": _person_pauses,
    "drain_kept": _drain_kept,
    "request_changed": _request_changed,
    "request_deleted": _request_deleted,
    "person_lets_go": lambda here, event: here.openshift.faults.person_unpauses(here.pool_of(event)),
}
"""The kinds of events."""
