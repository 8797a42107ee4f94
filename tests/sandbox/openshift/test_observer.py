"""The observer: it distinguishes clients, and names what may never happen and what is left behind."""

from __future__ import annotations

from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, NODES
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.openshift.asking import NEXT, built, history, pool
from tests.sandbox.openshift.description import MachineSet
from tests.sandbox.openshift.kinds import (
    ACKS,
    ACKS_NAMESPACE,
    DESIRED,
    MACHINE_API,
    MACHINE_SETS,
    POOLS,
    VERSION,
    VERSIONS,
)
from tests.sandbox.openshift.observer import (
    CHANNEL_LATE,
    PERSON,
    TAKEN_WHILE_PAUSED,
    TOO_MANY,
    WANTED_EARLY,
    WANTED_TWICE,
)
from tests.sandbox.openshift.openshift import OpenShift
from tests.sandbox.openshift.registry import image_of

RUN = "stateful.upgrade"


def breaches(found: OpenShift) -> list[tuple[str, str]]:
    return [(each.what, each.by) for each in found.observer.breaches]


def test_a_good_upgrade_has_no_breach_and_only_the_writes_of_its_client() -> None:
    found = built(version="4.18.2")
    found.write(VERSIONS, VERSION, {"channel": NEXT}, RUN)
    assert found.until(lambda: len(found.version()["status"]["availableUpdates"]) == 2)
    found.want("4.19.0", manager=RUN)
    assert found.until(found.upgrade_done)
    assert [(each.manager, each.name, each.fields) for each in found.observer.writes] == [
        (RUN, VERSION, ("spec.channel",)),
        (RUN, VERSION, ("spec.desiredUpdate",)),
    ]
    assert (breaches(found), found.observer.leftovers()) == ([], [])


def test_an_update_is_wanted_once_per_upgrade_and_client() -> None:
    found = built()
    found.want("4.18.2", manager=RUN)
    found.clock.advance(60)
    found.want("4.18.2", manager=RUN)
    assert breaches(found) == []
    found.want("4.18.2", image_of("4.18.2"), manager=RUN)
    assert breaches(found) == [(WANTED_TWICE, RUN)]
    assert found.until(found.upgrade_done)
    found.clock.advance(300)
    found.want("4.18.3", manager=RUN)
    assert breaches(found) == [(WANTED_TWICE, RUN)]


def test_the_channel_comes_before_the_update() -> None:
    found = built()
    found.want("4.18.2", manager=RUN)
    found.write(VERSIONS, VERSION, {"channel": NEXT}, RUN)
    assert breaches(found) == [(CHANNEL_LATE, RUN)]
    other = built()
    other.write(VERSIONS, VERSION, {"channel": NEXT, "desiredUpdate": {"version": "4.19.0"}}, RUN)
    assert breaches(other) == [(CHANNEL_LATE, RUN), (WANTED_EARLY, RUN)]


def test_a_version_is_wanted_once_it_is_available() -> None:
    found = built(version="4.18.2")
    found.write(VERSIONS, VERSION, {"channel": NEXT}, RUN)
    found.want("4.19.0", manager=RUN)
    assert breaches(found) == [(WANTED_EARLY, RUN)]


def test_clients_are_told_apart_from_persons_and_from_openshift() -> None:
    found = built()
    found.write(POOLS, "worker", {"paused": True}, RUN)
    found.faults.person_unpauses("worker")
    found.resources.change(
        CONFIG_MAPS, ACKS_NAMESPACE, ACKS, lambda item: item.update(data={"ack-4.18-x": "true"}), Writing(RUN)
    )
    assert found.observer.writes_of("spec.paused") == [(RUN, "worker"), (PERSON, "worker")]
    assert found.observer.writes_of("data.ack-4.18-x") == [(RUN, ACKS)]


def test_what_a_client_leaves_behind_is_listed_and_what_a_person_does_is_meant() -> None:
    found = built(machine_sets=(MachineSet("workers-a"),))
    found.write(POOLS, "worker", {"paused": True}, RUN)
    found.faults.person_pauses("master")
    found.write(NODES, "worker-0", {"unschedulable": True}, RUN)
    found.faults.person_cordons("worker-1")
    body = found.machine_set("workers-a")
    spare = {"metadata": {"name": "spare"}, "spec": {**body["spec"], "replicas": 0}}
    found.resources.create(MACHINE_SETS, MACHINE_API, spare, Writing(RUN))
    note = {"upgrade.stateful/undo": "{}"}
    found.resources.change(POOLS, "", "worker", lambda item: item["metadata"].update(annotations=note), Writing(RUN))
    assert found.observer.leftovers() == [
        "worker: paused",
        "worker-0: cordoned",
        "spare: machine set",
        "worker: upgrade.stateful/undo",
    ]
    assert found.observer.writes_of("created") == [(RUN, "spare")]
    found.resources.delete(MACHINE_SETS, MACHINE_API, "spare")
    assert found.observer.writes_of("deleted") == [("", "spare")]


def test_a_pool_that_was_paused_before_is_not_left_behind() -> None:
    found = built(pools=(pool("master"), pool("worker", paused=True)))
    found.write(POOLS, "worker", {"maxUnavailable": 2}, RUN)
    assert found.observer.leftovers() == []


def test_a_cordon_of_openshift_itself_is_not_left_behind() -> None:
    found = built()
    found.want("4.18.2")
    assert found.until(lambda: found.node("worker-0")["spec"].get("unschedulable"))
    assert found.observer.leftovers() == []


def test_more_kubernetes_nodes_at_once_than_the_pool_says_are_a_breach() -> None:
    found = built()
    for name in ("worker-0", "worker-1"):
        found.resources.change(
            NODES, "", name, lambda item: item["metadata"]["annotations"].update({DESIRED: "other"}), Writing(RUN)
        )
    assert breaches(found) == [(TOO_MANY, RUN)]
    found.write(POOLS, "master", {"paused": True})
    found.resources.change(
        NODES, "", "master-0", lambda item: item["metadata"]["annotations"].update({DESIRED: "other"}), Writing(RUN)
    )
    assert breaches(found)[1:] == [(TAKEN_WHILE_PAUSED, RUN)]


def test_an_update_that_was_refused_may_be_taken_back_and_wanted_again() -> None:
    found = built()
    found.want("4.18.9", image_of("4.18.9"), manager=RUN)
    found.clock.advance(60)
    found.write(VERSIONS, VERSION, {"desiredUpdate": None}, RUN)
    found.want("4.18.2", manager=RUN)
    # Nothing shows who has taken a field away that only one manager owned.
    assert found.observer.writes_of("spec.desiredUpdate") == [(RUN, VERSION), ("", VERSION), (RUN, VERSION)]
    assert (breaches(found), history(found)) == ([], [("4.18.1", "Completed")])
