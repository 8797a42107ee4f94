"""The events of a story of machines of kubeadm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tests.runs.machines import Machines, Tenant
from tests.runs.random_runs.events import OF_EVERY_SYSTEM, OF_PERSON, HappeningForAWhile
from tests.runs.random_runs.machines.deletions import GOING, Deletions
from tests.runs.random_runs.machines.requesting import Requesting
from tests.runs.random_runs.machines.story import MachinesStory
from tests.runs.random_runs.machines.upgrader import UpgraderInStory
from tests.runs.random_runs.person import Person
from tests.runs.random_runs.story import Event
from tests.sandbox.kubeadm.description import COMPONENTS
from tests.sandbox.kubernetes.kinds import BUDGETS, NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS
from tests.sandbox.kubernetes.objects import Json

REQUESTS = (
    ("PATCH", "/nodes/"),
    ("POST", "/eviction"),
    ("PATCH", "/configmaps/"),
    ("PATCH", "/leases/"),
    ("GET", "/nodes"),
    ("GET", "/pods"),
    ("POST", "/nodeupdates"),
    ("PATCH", "/nodeupdates/"),
)
"""The kinds of requests to Kubernetes that can be spoiled."""
WEB = "web"
SLOWLY = 10
"""The number by which the time of what happens to an upgrader is multiplied."""


@dataclass
class HappeningToMachines(HappeningForAWhile):
    """The events of one story while it goes on."""

    REQUESTS = REQUESTS

    found: Machines
    story: MachinesStory
    tenant: Tenant | None
    upgrader: UpgraderInStory | None
    requesting: Requesting | None
    deletions: Deletions
    person: Person
    cordoned: set[str] = field(default_factory=set)
    """The machines that a person has cordoned, and not uncordoned since."""

    def happen(self, event: Event) -> None:
        """Let one event happen. Raises Killed: it is the end of the controller."""
        KINDS[event.kind](self, event)

    def machine_of(self, event: Event) -> str:
        """The machine that the event is about."""
        return self.story.names[event.subject % len(self.story.names)]

    def worker_of(self, event: Event) -> str:
        """The worker that the event is about."""
        return self.story.of_workers[event.subject % self.story.workers]

    def change(self, name: str, change: Callable[[Json], object]) -> None:
        """Change a Kubernetes node as a person does, if it is there."""
        if not self.found.cluster.is_registered(name):
            return

        def made(item: Json) -> None:
            change(item)

        self.found.here.sandbox.kubernetes.server.resources.change(NODES, "", name, made)


def _kubeadm_fails(here: HappeningToMachines, event: Event) -> None:
    commands = here.found.machines[here.machine_of(event)].commands
    commands.fails["kubeadm upgrade"] = "error: no space left on device"
    here.until(event, commands.fails.clear)


def _kubeadm_cut_off(here: HappeningToMachines, event: Event) -> None:
    here.found.machines[here.machine_of(event)].commands.cut_off_after = 1 + event.subject % 3


def _kubelet_not_ready(here: HappeningToMachines, event: Event) -> None:
    machine = here.found.machines[here.machine_of(event)]
    machine.kubelet.never_ready = True

    def end() -> None:
        machine.kubelet.never_ready = False
        if machine.has_power:
            machine.kubelet.restart(machine.kubelet.configuration)

    here.until(event, end)


def _repository_away(here: HappeningToMachines, event: Event) -> None:
    packages = here.found.machines[here.machine_of(event)].packages
    packages.repository_away = True

    def end() -> None:
        packages.repository_away = False

    here.until(event, end)


def _power_off(here: HappeningToMachines, event: Event) -> None:
    machine = here.found.machines[here.worker_of(event)]
    if machine.has_power:
        machine.power_off()
        here.until(event, machine.power_on)


def _unreachable(here: HappeningToMachines, event: Event) -> None:
    door = here.found.doors[here.machine_of(event)]
    door.close()
    here.until(event, door.open)


def _component_broken(here: HappeningToMachines, event: Event) -> None:
    names = [each for each in here.story.names if each.startswith("cp-")]
    broken = here.found.machines[names[event.subject % len(names)]].written.broken
    broken[COMPONENTS[event.subject % len(COMPONENTS)]] = "timed out waiting for the condition"
    here.until(event, broken.clear)


def _person_cordons(here: HappeningToMachines, event: Event) -> None:
    name = here.machine_of(event)
    cluster = here.found.cluster
    if not cluster.is_registered(name) or cluster.node(name)["spec"].get("unschedulable"):
        return
    here.cordoned.add(name)
    here.change(name, lambda item: item["spec"].update(unschedulable=True))

    def end() -> None:
        here.cordoned.discard(name)
        here.change(name, lambda item: item["spec"].pop("unschedulable", None))

    here.until(event, end)


def _drain_blocked(here: HappeningToMachines, event: Event) -> None:
    """A pod that nothing but a StatefulSet of the story could make again is under a budget that lets nothing go."""
    resources, name = here.found.here.sandbox.kubernetes.server.resources, f"on-{here.worker_of(event)}"
    if any(resources.store.kept(kind, WEB, name) is not None for kind in (PODS, BUDGETS)):
        return
    if not here.found.cluster.is_registered(here.worker_of(event)):
        return
    if resources.store.kept(NAMESPACES, "", WEB) is None:
        resources.create(NAMESPACES, "", {"metadata": {"name": WEB}})
        resources.create(SERVICE_ACCOUNTS, WEB, {"metadata": {"name": "default"}})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": WEB, "uid": "of-no-one", "controller": True}
    spec = {"nodeName": here.worker_of(event), "containers": [{"name": "server", "image": "probe:1"}]}
    metadata = {"name": name, "labels": {"app": name}, "ownerReferences": [owner]}
    resources.create(PODS, WEB, {"metadata": metadata, "spec": spec})
    budget = {"selector": {"matchLabels": {"app": name}}, "maxUnavailable": 0}
    resources.create(BUDGETS, WEB, {"metadata": {"name": name}, "spec": budget})

    def end() -> None:
        resources.delete(BUDGETS, WEB, name)

    here.until(event, end)


def _member_away(here: HappeningToMachines, event: Event) -> None:
    if here.tenant is not None:
        names = sorted(here.tenant.places())
        namespace, faults = here.tenant.cluster.namespace, here.world.sandbox.faults
        faults.crash_loop(namespace, names[event.subject % len(names)])
        here.until(event, lambda: faults.mend(namespace, names[event.subject % len(names)]))


def _agent_fails(here: HappeningToMachines, event: Event) -> None:
    passing = {"failureClass": "Transient", "failureReason": "Busy", "failureMessage": "the disk is busy"}
    for_good = {"failureReason": "Signature", "failureMessage": "the image is not signed"}
    agent = here.found.machines[here.machine_of(event)].agent
    agent.fails = [passing] * (1 + event.subject % 5) if event.subject % 3 else [for_good]
    here.undone.append(agent.fails.clear)


def _agent(here: HappeningToMachines, event: Event, fault: str) -> None:
    agent = here.found.machines[here.machine_of(event)].agent
    setattr(agent, fault, True)
    here.until(event, lambda: setattr(agent, fault, False))


def _upgrader_fails(here: HappeningToMachines, event: Event) -> None:
    if here.upgrader is None:
        return
    passing = {"failureClass": "Transient", "failureReason": "Busy", "failureMessage": "the host is busy"}
    for_good = {"failureReason": "ImageInvalid", "failureMessage": "the signature is missing"}
    here.upgrader.fails = [passing] * (1 + event.subject % 5) if event.subject % 3 else [for_good]
    here.undone.append(here.upgrader.fails.clear)


def _upgrader_hangs(here: HappeningToMachines, event: Event) -> None:
    if here.upgrader is not None:
        here.upgrader.hangs = True
        # The half of them comes to no end by itself, so that the time of the work is over.
        here.until(replace(event, seconds=event.seconds * (event.subject % 2) * SLOWLY), here.upgrader.go_on)


def _upgrader_away(here: HappeningToMachines, event: Event) -> None:
    if here.upgrader is not None:
        here.upgrader.is_away = True
        here.until(replace(event, seconds=event.seconds * SLOWLY), here.upgrader.come_back)


def _node_deleted(here: HappeningToMachines, event: Event) -> None:
    name = here.worker_of(event)
    if not here.found.cluster.is_registered(name):
        return
    here.cordoned.discard(name)
    here.deletions.delete_node(name)
    here.until(event, lambda: here.deletions.register(name))


def _machine_deleted(here: HappeningToMachines, event: Event) -> None:
    """The half of them never comes back, unless it is the last worker."""
    name, deletions = here.worker_of(event), here.deletions
    if name in deletions.gone:
        return
    deletions.delete(name)
    for_good = bool(event.subject % 2) and len({*here.story.of_workers} - deletions.for_good) > 1
    if for_good:
        deletions.for_good.add(name)

    def remove() -> None:
        here.cordoned.discard(name)
        deletions.remove(name)

    here.until(replace(event, seconds=GOING if deletions.owned is not None else 0.1), remove)
    if not for_good:
        here.until(replace(event, seconds=event.seconds * SLOWLY), lambda: deletions.come_back(name))


def _task_aborted(here: HappeningToMachines, _event: Event) -> None:
    if here.requesting is not None:
        here.requesting.abort()


def _task_deleted(here: HappeningToMachines, _event: Event) -> None:
    if here.requesting is not None:
        here.requesting.delete()


KINDS: Mapping[str, Callable[[HappeningToMachines, Event], None]] = {
    **OF_EVERY_SYSTEM,
    **OF_PERSON,
    "kubeadm_fails": _kubeadm_fails,
    "kubeadm_cut_off": _kubeadm_cut_off,
    "kubelet_not_ready": _kubelet_not_ready,
    "repository_away": _repository_away,
    "power_off": _power_off,
    "unreachable": _unreachable,
    "component_broken": _component_broken,
    "person_cordons": _person_cordons,
    "drain_blocked": _drain_blocked,
    "member_away": _member_away,
    "agent_fails": _agent_fails,
    "agent_hangs": lambda here, event: _agent(here, event, "hangs"),
    "agent_forgets": lambda here, event: _agent(here, event, "forgets"),
    "agent_silent": lambda here, event: _agent(here, event, "silent"),
    "upgrader_fails": _upgrader_fails,
    "upgrader_hangs": _upgrader_hangs,
    "upgrader_away": _upgrader_away,
    "task_aborted": _task_aborted,
    "task_deleted": _task_deleted,
    "agent_lies": lambda here, event: _agent(here, event, "lies"),
    "machine_deleted": _machine_deleted,
    "node_deleted": _node_deleted,
}
"""The kinds of events."""
