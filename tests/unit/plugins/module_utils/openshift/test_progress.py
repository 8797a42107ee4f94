"""The order of the batches, and the sentence for each thing that is waited for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.observe.workloads import KeptPod
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.conditions import StatusCondition
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Budget
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.health import (
    judge_nodes,
    judge_pools,
    judge_whole,
    left_alone,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.order import (
    digest,
    measured,
    turns,
    versions,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.progress import (
    judge_control_plane,
    judge_taken,
    judge_unchanged,
    judge_updated,
    left_of_nodes,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.look import members_of
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.state import (
    HistoryEntry,
    OpenShift,
)

from tests.unit.plugins.module_utils.openshift.seen import (
    DONE,
    FALSE,
    NEW,
    OLD,
    config,
    node,
    openshift,
    pool,
    target,
    under_way,
    version,
)

TARGET = Release.parse(NEW)
NO_BACKUP = StatusCondition("False", message='Preconditions failed: Precondition "EtcdRecentBackup" failed because')
NO_BACKUP_AND_MORE = StatusCondition(
    "False", message=f"Multiple precondition checks failed:\n* {NO_BACKUP.message}\n* Precondition"
)
ITS = config("worker", NEW)
BUDGET = Budget("data", {"matchLabels": {"app": "data"}}, 0, 2, 3, 3, "search")


def with_node(seen: OpenShift, name: str, **other: Any) -> OpenShift:
    """The same with other facts of a Kubernetes node."""
    return replace(seen, nodes={**seen.nodes, name: replace(seen.nodes[name], **other)})


def upgraded(**other: Any) -> OpenShift:
    """The control plane is done, and no worker is."""
    masters = {name: node(name, NEW) for name in ("m-0", "m-1", "m-2")}
    workers = {name: node(name) for name in ("w-0", "w-1", "w-2")}
    pools = {name: pool(name, NEW) for name in ("master", "worker")}
    return openshift(version=under_way("Completed"), pools=pools, nodes={**masters, **workers}, **other)


def batches(seen: OpenShift) -> list[list[str]]:
    return [list(each.members) for each in turns(seen, TARGET)]


def test_the_control_plane_goes_first_and_workers_as_many_as_their_pool_lets_go() -> None:
    assert batches(openshift()) == [["m-0", "m-1", "m-2"], ["w-0"], ["w-1"], ["w-2"]]
    two = openshift(pools={"master": pool("master"), "worker": pool("worker", max_unavailable=2)})
    assert batches(two)[1:] == [["w-0", "w-1"], ["w-2"]]


@pytest.mark.parametrize(("given", "count", "most"), [(1, 3, 1), (0, 3, 1), ("50%", 5, 2), ("10%", 5, 1), (4, 12, 4)])
def test_a_share_is_rounded_down_and_never_nothing(given: int | str, count: int, most: int) -> None:
    assert pool("worker", max_unavailable=given).at_once(count) == most


def test_what_is_done_is_not_planned_again() -> None:
    assert batches(upgraded()) == [["w-0"], ["w-1"], ["w-2"]]
    assert batches(replace(upgraded(), nodes={**upgraded().nodes, "w-1": node("w-1", NEW)})) == [["w-0"], ["w-2"]]
    assert versions(upgraded(), TARGET)["m-0"] == NEW


def test_a_pool_that_a_person_has_paused_is_left_out_and_one_of_a_run_is_not() -> None:
    paused = {"master": pool("master"), "worker": pool("worker", paused=True)}
    assert batches(openshift(pools=paused)) == [["m-0", "m-1", "m-2"]]
    ours = {"master": pool("master"), "worker": pool("worker", paused=True, is_held=True)}
    assert len(batches(openshift(pools=ours))) == 4
    assert digest(openshift(pools=ours), target()) == digest(upgraded(), target())
    assert digest(openshift(pools=paused), target()) != digest(openshift(), target())


UPDATE = HistoryEntry(OLD, "Completed", "2026-02-01T00:00:00Z", "2026-02-01T00:57:00Z")


@pytest.mark.parametrize(
    ("history", "found"),
    [
        ((UPDATE, DONE), {"batches": 1, "seconds": 3420}),
        ((replace(UPDATE, version=NEW, state="Partial", completed=""), UPDATE, DONE), {"batches": 1, "seconds": 3420}),
        ((DONE,), {}),
        ((), {}),
        ((replace(UPDATE, completed=""), DONE), {}),
        ((replace(UPDATE, completed="2026-01-01T00:00:00Z"), DONE), {}),
    ],
)
def test_the_control_plane_takes_as_long_as_in_its_last_update(history: Any, found: dict[str, int]) -> None:
    seen = openshift(version=version(history=history))
    assert measured(seen, turns(seen, TARGET)) == found
    assert measured(seen, turns(seen, TARGET)[1:]) == {}


def test_a_kubernetes_node_is_of_one_pool_in_the_order_of_the_operator() -> None:
    both = {"role": "worker", "kind": "infra"}
    nodes = {
        "w-2": node("w-2", zone="b", created="2026-01-01"),
        "w-1": node("w-1", zone="a", created="2026-01-02"),
        "w-0": node("w-0", zone="a", created="2026-01-03"),
        "w-3": node("w-3", labels=both),
    }
    pools = {"worker": pool("worker"), "infra": pool("infra", selector={"matchLabels": {"kind": "infra"}})}
    assert members_of(pools, nodes) == {"worker": ("w-1", "w-0", "w-2"), "infra": ("w-3",)}


STAGES: list[tuple[dict[str, Any], str]] = [
    ({}, "waits for the machine config operator"),
    ({"desired": ITS}, "is taken by its daemon"),
    ({"desired": ITS, "wanted_drain": f"drain-{ITS}"}, "is being drained"),
    (
        {"desired": ITS, "wanted_drain": f"drain-{ITS}", "last_drain": f"drain-{ITS}"},
        "gets its new configuration, and reboots",
    ),
    ({"desired": ITS, "ready": False}, "reboots"),
    ({"desired": ITS, "current": ITS, "unschedulable": True}, "comes back"),
    ({"desired": ITS, "state": "Degraded", "reason": "disk is full"}, "cannot be updated (Degraded): disk is full"),
]


@pytest.mark.parametrize(("facts", "said"), STAGES)
def test_each_stage_of_a_kubernetes_node_has_its_sentence(facts: dict[str, Any], said: str) -> None:
    verdict = judge_updated(with_node(upgraded(), "w-0", **facts), ["w-0"], TARGET)
    (reason,) = verdict.reasons
    assert reason.message.startswith(f"Kubernetes node w-0 {said}")
    assert verdict.state.value == "waiting"


def test_a_kubernetes_node_is_done_only_on_the_configuration_of_the_target() -> None:
    done = replace(upgraded(), nodes={**upgraded().nodes, "w-0": node("w-0", NEW)})
    assert judge_updated(done, ["w-0"], TARGET).passed
    # The pool has no new configuration yet, so that its Kubernetes nodes have what it wants.
    early = openshift(version=under_way("Completed"))
    assert not judge_updated(early, ["w-0"], TARGET).passed
    assert not judge_taken(early, ["w-0"], TARGET).passed
    assert judge_updated(early, ["gone"], TARGET).passed


LATER = f"{ITS}-later"


@pytest.mark.parametrize(
    ("facts", "taken", "updated"),
    [
        ({}, False, False),
        ({"desired": ITS}, True, False),
        ({"desired": ITS, "current": ITS, "ready": False}, False, False),
        ({"desired": ITS, "current": ITS, "state": "Working"}, True, False),
        ({"desired": ITS, "current": ITS}, False, True),
        ({"desired": LATER, "current": ITS}, True, False),
        ({"desired": LATER, "current": LATER}, True, True),
        ({"desired": "rendered-worker-unknown", "current": "rendered-worker-unknown"}, False, False),
        ({"desired": config("worker", OLD), "current": ITS}, False, False),
    ],
)
def test_a_kubernetes_node_is_updated_by_any_configuration_of_the_target(
    facts: dict[str, Any], taken: bool, updated: bool
) -> None:
    """Its pool has got a later one of the same version, to which it would be taken again."""
    seen = with_node(upgraded(), "w-0", **facts)
    pools = {**seen.pools, "worker": pool("worker", NEW, config=LATER)}
    seen = replace(seen, pools=pools, releases={**seen.releases, LATER: NEW})
    assert judge_taken(seen, ["w-0"], TARGET).passed is taken
    assert judge_updated(seen, ["w-0"], TARGET).passed is updated
    assert seen.is_done("w-0", TARGET) is (facts.get("current") == LATER)
    assert seen.is_left("w-0", TARGET) is (facts.get("current") != LATER)
    away = with_node(seen, "w-0", ready=False)
    assert away.is_left("w-0", TARGET) is seen.is_left("w-0", TARGET)


def test_a_paused_pool_with_a_later_configuration_is_not_the_end() -> None:
    nodes = {name: node(name, NEW) for name in openshift().nodes}
    releases = {**openshift().releases, LATER: NEW}
    for paused, codes in ((True, ["pool_reconfigured"]), (False, [])):
        later = pool("worker", NEW, config=LATER, paused=paused, is_held=True)
        seen = replace(upgraded(), nodes=nodes, pools={**upgraded().pools, "worker": later}, releases=releases)
        assert [each.code for each in judge_whole(seen, TARGET).reasons] == codes
        behind = with_node(seen, "w-1", desired=config("worker", OLD), current=config("worker", OLD))
        (reason,) = judge_whole(behind, TARGET).reasons
        assert reason.message == f"MachineConfigPool worker has Kubernetes nodes that are not on {NEW}: w-1."


def test_each_step_of_a_kubernetes_node_is_progress() -> None:
    steps: list[dict[str, Any]] = [
        {},
        {"desired": ITS},
        {"desired": ITS, "current": ITS, "ready": False},
        {"desired": ITS, "current": ITS},
    ]
    left = [left_of_nodes(with_node(upgraded(), "w-0", **facts), ["w-0"], TARGET) for facts in steps]
    assert left == [(3.0,), (2.0,), (1.0,), (0.0,)]


SINCE = "2026-11-21T02:10:00Z"


def test_a_drain_that_is_blocked_names_budget_and_pod() -> None:
    drained = with_node(upgraded(), "w-0", desired=ITS, wanted_drain=f"drain-{ITS}")
    kept = [KeptPod("search", "data-1", "w-0", BUDGET, since=SINCE), KeptPod("search", "data-2", "w-0", BUDGET)]
    (reason,) = judge_updated(drained, ["w-0"], TARGET, kept).reasons
    assert f"Kubernetes node w-0 has been draining since {SINCE}" in reason.message
    assert "PodDisruptionBudget search/data keeps pod data-1 there (and 1 more)" in reason.message
    assert "it lets 0 go, with 2 of 3 healthy, and 3 have to be" in reason.message


def test_a_drain_that_two_budgets_block_says_so() -> None:
    drained = with_node(upgraded(), "w-0", desired=ITS, wanted_drain=f"drain-{ITS}")
    kept = [KeptPod("search", "data-1", "w-0", replace(BUDGET, allowed=1), covered_twice=True)]
    (reason,) = judge_updated(drained, ["w-0"], TARGET, kept).reasons
    assert "another budget covers this pod, too" in reason.message


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        (openshift(), "update_withdrawn"),
        (openshift(version=version(wanted=NEW)), "update_not_begun"),
        (openshift(version=under_way()), "control_plane_updating"),
        (openshift(version=under_way("Completed")), "control_plane_updating"),
        (openshift(version=under_way(wanted="4.18.3")), "update_changed"),
        (openshift(version=under_way(conditions={"ReleaseAccepted": FALSE})), "release_not_accepted"),
        (openshift(version=under_way(conditions={"ReleaseAccepted": NO_BACKUP})), "etcd_backup"),
        (openshift(version=under_way(conditions={"ReleaseAccepted": NO_BACKUP_AND_MORE})), "release_not_accepted"),
        (
            openshift(version=under_way(conditions={"ReleaseAccepted": FALSE}, generation=2)),
            "control_plane_updating",
        ),
    ],
)
def test_the_control_plane_is_waited_for_by_its_own_words(seen: OpenShift, code: str) -> None:
    assert {each.code for each in judge_control_plane(seen, TARGET).reasons} == {code}


def test_the_message_of_a_failing_operator_comes_before_that_of_the_progress() -> None:
    said = {
        "Progressing": StatusCondition("True", "", "Working"),
        "Failing": StatusCondition("True", "", "etcd is down"),
    }
    (reason,) = judge_control_plane(openshift(version=under_way(conditions=said)), TARGET).reasons
    assert reason.message == f"The control plane is being updated to {NEW}: etcd is down"
    assert judge_control_plane(upgraded(), TARGET).passed


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"unschedulable": True}, "kubernetes_node_unfit"),
        ({"ready": False}, "kubernetes_node_unfit"),
        ({"pressures": ("is under disk pressure",)}, "kubernetes_node_unfit"),
        ({"pressures": ("is under disk pressure",), "desired": ITS, "state": "Working"}, None),
        ({"state": "Degraded", "desired": ITS}, "kubernetes_node_degraded"),
        ({"unschedulable": True, "desired": ITS, "state": "Working"}, None),
    ],
)
def test_a_person_s_cordon_is_told_from_that_of_the_operator(facts: dict[str, Any], code: str | None) -> None:
    found = [each.code for each in judge_nodes(with_node(openshift(), "w-0", **facts)).reasons]
    assert found == ([code] if code else [])


def test_the_steps_of_a_run_look_at_no_kubernetes_node_that_the_operator_takes_by_itself() -> None:
    every = ("m-0", "m-1", "m-2", "w-0", "w-1", "w-2")
    assert left_alone(openshift(), TARGET) == every
    assert left_alone(with_node(openshift(), "w-1", state="Working"), TARGET) == (*every[:4], "w-2")
    # The control plane is under way, and another user has not held the workers.
    assert left_alone(openshift(version=under_way()), TARGET) == ()
    held = {"master": pool("master"), "worker": pool("worker", paused=True, is_held=True)}
    assert left_alone(openshift(version=under_way(), pools=held), TARGET) == every[3:]
    assert left_alone(upgraded(), TARGET) == every[:3]
    done = {name: node(name, NEW) for name in openshift().nodes}
    assert left_alone(replace(upgraded(), nodes=done), TARGET) == every


def test_a_pool_whose_configuration_says_no_version_is_refused() -> None:
    unknown = openshift(pools={"master": pool("master"), "worker": pool("worker", release="")})
    assert [each.code for each in judge_pools(unknown, TARGET).reasons] == ["pool_release_unknown"]


def test_a_pool_that_has_no_configuration_yet_is_waited_for() -> None:
    """A custom pool that was just made has none, whatever the version of OpenShift is."""
    made = openshift(pools={"master": pool("master"), "worker": pool("worker", config="", release="")})
    verdict = judge_pools(made, TARGET)
    assert [each.code for each in verdict.reasons] == ["pool_not_rendered"]
    assert verdict.state is State.WAITING
    assert "oc describe machineconfigpool worker" in verdict.reasons[0].remedy


@pytest.mark.parametrize(
    ("given", "at_once", "codes"),
    [
        (2, 2, []),
        ("50%", 5, []),
        ("0%", 1, []),
        ("2", 1, ["pool_limit_unreadable"]),
        ("ten", 1, ["pool_limit_unreadable"]),
        ("", 1, ["pool_limit_unreadable"]),
    ],
)
def test_a_limit_that_is_no_number_and_no_share_is_refused(given: int | str, at_once: int, codes: list[str]) -> None:
    seen, limited = openshift(), pool("worker", max_unavailable=given)
    assert limited.at_once(10) == at_once
    seen = replace(seen, pools={**seen.pools, "worker": limited})
    assert [each.code for each in judge_pools(seen, TARGET).reasons] == codes
    assert turns(seen, TARGET)


@pytest.mark.parametrize(
    ("name", "facts", "codes"),
    [
        ("master", {}, []),
        ("master", {"paused": True}, ["pool_required"]),
        ("worker", {}, ["pool_with_control_plane"]),
        ("worker", {"paused": True}, ["pool_required"]),
        ("worker", {"paused": True, "is_held": True}, ["pool_with_control_plane"]),
    ],
)
def test_a_pool_for_which_the_control_plane_waits_may_not_be_paused(
    name: str, facts: dict[str, Any], codes: list[str]
) -> None:
    seen = openshift()
    seen = replace(seen, pools={**seen.pools, name: pool(name, required=True, **facts)})
    assert [each.code for each in judge_pools(seen, TARGET).reasons] == codes
    updated = replace(seen, version=under_way("Completed"))
    assert "pool_required" not in {each.code for each in judge_pools(updated, TARGET).reasons}


def test_the_whole_is_done_when_every_pool_is() -> None:
    assert not judge_whole(upgraded(), TARGET).passed
    done = {name: node(name, NEW) for name in openshift().nodes}
    assert judge_whole(replace(upgraded(), nodes=done), TARGET).passed
    assert not judge_whole(openshift(), TARGET).passed


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, ""),
        ({"wanted": ""}, ""),
        ({"wanted": "4.18.3"}, "4.18.3"),
        ({"wanted": "4.18.3", "history": (HistoryEntry("4.18.3", "Partial", "", ""),)}, "4.18.3"),
        ({"wanted": "", "history": (HistoryEntry("4.18.3", "Completed", "", ""),)}, "4.18.3"),
    ],
)
def test_workers_go_only_while_no_other_update_is_wanted(facts: dict[str, Any], said: str) -> None:
    found = judge_unchanged(replace(openshift(), version=under_way("Completed", **facts)), TARGET).reasons
    assert [each.code for each in found] == (["update_changed"] if said else [])
    assert all(f"desired update of OpenShift to {said}," in each.message for each in found)


def test_a_version_that_another_update_has_followed_was_reached() -> None:
    later = HistoryEntry("4.18.3", "Completed", "", "")
    followed = under_way("Completed", wanted="4.18.3", desired="4.18.3")
    followed = replace(followed, history=(later, *followed.history))
    assert [each.reached_of([NEW]) for each in (under_way(), followed, version())] == [NEW, "4.18.3", ""]


def test_a_kubernetes_node_that_has_left_its_pool_is_not_waited_for() -> None:
    seen = upgraded()
    left = replace(seen, members={**seen.members, "worker": ("w-1", "w-2")})
    assert judge_taken(left, ["w-0"], TARGET).passed
    assert judge_updated(left, ["w-0"], TARGET).passed
    assert left_of_nodes(left, ["w-0"], TARGET) == (0.0,)
