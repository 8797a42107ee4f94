"""The verdict on a drain: each pod and volume that is left is named with its cause, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.judge.drained import (
    EvictionAnswers,
    evictable,
    judge_drained,
    left,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.judge.undrainable import (
    judge_undrainable,
    unmanaged,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.observe.drain_state import (
    DrainedNode,
    DrainLook,
    HeldVolume,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.observe.workloads import KeptPod, PlacedPod
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.plugins.module_utils.draining.placed import budget, pod

NODE, SINCE = "w-0", "2026-11-28T02:00:00Z"
OVERDUE = "2026-11-28T02:10:00Z"
CORDONED = DrainedNode(NODE, cordoned=True, ours=True, since=SINCE)
CLOSED = budget(allowed=0, healthy=2)
NO_ANSWERS = EvictionAnswers()


def look(*pods: PlacedPod, node: DrainedNode = CORDONED, **other: Any) -> DrainLook:
    return replace(DrainLook((node,), pods), **other)


def judged(seen: DrainLook, answers: EvictionAnswers = NO_ANSWERS) -> Verdict:
    return judge_drained(seen, answers, OVERDUE)


def kept(name: str, **other: Any) -> KeptPod:
    return replace(KeptPod("search", name, NODE, CLOSED), **other)


def test_it_has_passed_once_only_pods_are_left_that_stay() -> None:
    staying = (pod("agent", owner="DaemonSet"), pod("etcd", is_static=True), pod("elsewhere", node="w-1"))
    assert judged(look(*staying)) == Verdict()
    assert left(look(*staying)) == (0.0, 0.0)
    assert judged(replace(look(), nodes=())) == Verdict()


@pytest.mark.parametrize(
    ("closed", "words"),
    [
        (CLOSED, f"since {SINCE}: it lets 0 go, with 2 of 3 healthy, and 2 have to be, so 1 more has to become so."),
        (replace(CLOSED, healthy=1), "with 1 of 3 healthy, and 2 have to be, so 2 more have to become so."),
        (replace(CLOSED, closed_since="2026-11-28T02:05:00Z"), "since 2026-11-28T02:05:00Z:"),
        (replace(CLOSED, closed_since="2026-11-28T01:00:00Z"), f"since {SINCE}:"),
        (replace(CLOSED, healthy=3, desired=3), "with 3 of 3 healthy, and 3 have to be."),
    ],
)
def test_a_pod_that_is_kept_is_named_with_its_budget_and_what_that_lacks(closed: Any, words: str) -> None:
    (reason,) = judged(look(pod("data-0", uid="a"), kept=(kept("data-0", budget=closed),))).reasons
    assert (reason.state, reason.code) == (State.WAITING, "drain_blocked")
    assert "PodDisruptionBudget search/data keeps data-0 there" in reason.message
    assert words in reason.message


def test_a_budget_that_can_never_let_a_pod_go_asks_for_another_remedy() -> None:
    never = replace(CLOSED, healthy=3, desired=3)
    (reason,) = judged(look(pod("data-0", uid="a"), kept=(kept("data-0", budget=never),))).reasons
    assert "it never lets one go" in reason.remedy


def test_pods_of_one_budget_are_one_reason_and_each_budget_has_its_own() -> None:
    pods = [pod(f"data-{number}", uid=str(number)) for number in range(3)]
    other = replace(CLOSED, name="other")
    stays = (kept("data-0"), kept("data-1"), kept("data-2", budget=other))
    messages = [each.message for each in judged(look(*pods, kept=stays)).reasons]
    assert len(messages) == 2
    assert "data-0, data-1" in messages[0]
    assert "search/other keeps data-2" in messages[1]


def test_a_pod_that_leaves_is_kept_by_no_budget_although_one_was_seen_before() -> None:
    going = pod("data-0", uid="a", terminating=True, ends=OVERDUE)
    (reason,) = judged(look(going, kept=(kept("data-0"),))).reasons
    assert reason.code == "pods_leaving"


@pytest.mark.parametrize(
    ("answers", "code", "words"),
    [
        (EvictionAnswers(kept={"a": "It needs 2."}), "drain_blocked", "The server says: It needs 2."),
        (EvictionAnswers({"a": "Several."}, frozenset("a")), "drain_blocked", "Several."),
        (EvictionAnswers(refused={"a": "webhook down"}), "eviction_refused", "webhook down"),
        (NO_ANSWERS, "pods_leaving", "search/data-0"),
        (EvictionAnswers({"b": "Another pod."}), "pods_leaving", "search/data-0"),
    ],
)
def test_the_answers_of_the_server_say_why_a_pod_is_still_there(
    answers: EvictionAnswers, code: str, words: str
) -> None:
    (reason,) = judged(look(pod("data-0", uid="a")), answers).reasons
    assert (reason.code, words in reason.message) == (code, True)


@pytest.mark.parametrize(
    ("ends", "finalizers", "code", "words"),
    [
        (OVERDUE, (), "pods_leaving", "data-0"),
        ("2026-11-28T02:09:59Z", (), "pod_overdue", "Its kubelet has not confirmed"),
        ("2026-11-28T02:09:59Z", ("a/b", "c/d"), "pod_overdue", "It has the finalizers a/b, c/d."),
    ],
)
def test_a_pod_is_overdue_after_the_end_of_its_grace_period(
    ends: str, finalizers: tuple[str, ...], code: str, words: str
) -> None:
    going = pod("data-0", uid="a", terminating=True, ends=ends, finalizers=finalizers)
    (reason,) = judged(look(going)).reasons
    assert (reason.code, words in reason.message) == (code, True)


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (HeldVolume("pvc-1", NODE, "", ""), "volume pvc-1 is still attached to it: its pod cannot start elsewhere."),
        (HeldVolume("pvc-1", NODE, SINCE, "busy"), f"asked to be detached at {SINCE}"),
        (HeldVolume("pvc-1", NODE, SINCE, "busy"), "Its detachment failed: busy"),
    ],
)
def test_a_volume_that_is_still_attached_is_waited_for(held: HeldVolume, words: str) -> None:
    (reason,) = judged(look(held=(held,))).reasons
    assert (reason.code, words in reason.message) == ("volume_attached", True)


def test_a_cordon_that_is_gone_refuses_but_not_one_that_was_only_tried() -> None:
    seen = look(node=replace(CORDONED, cordoned=False))
    assert [(each.state, each.code) for each in judged(seen).reasons] == [(State.REFUSED, "cordon_undone")]
    assert judge_drained(seen, NO_ANSWERS, OVERDUE, tried=True) == Verdict()


PODS = st.builds(
    lambda number, **other: pod(f"p-{number}", uid=str(number), **other),
    st.integers(0, 30),
    node=st.sampled_from([NODE, "w-1"]),
    owner=st.sampled_from(["", "StatefulSet", "DaemonSet"]),
    is_static=st.booleans(),
    terminating=st.booleans(),
    ends=st.sampled_from(["", "2026-11-28T02:00:00Z", "2026-11-28T03:00:00Z"]),
    phase=st.sampled_from(["Running", "Pending", "Succeeded"]),
)
SEVERAL = st.lists(PODS, max_size=8, unique_by=lambda each: each.name)


@given(SEVERAL, st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_each_pod_that_is_left_is_waited_for_and_none_that_stays(
    pods: list[PlacedPod], kept_ones: set[int], said: set[int], refused: set[int]
) -> None:
    stays = tuple(kept(each.name) for each in pods if int(each.uid) in kept_ones and each.kubernetes_node == NODE)
    answers = EvictionAnswers({str(each): "no" for each in said}, frozenset(), {str(each): "no" for each in refused})
    seen = look(*pods, kept=stays)
    verdict = judged(seen, answers)
    going = [each for each in pods if each.kubernetes_node == NODE and each.owner != "DaemonSet" and not each.is_static]
    assert verdict.passed is (not going)
    assert len(verdict.deciding()) <= 2 * len(going)
    asked = evictable(seen, ("3",))
    assert {each.uid for each in asked} <= {each.uid for each in going if not each.terminating} - {"3"}
    assert not {each.name for each in asked} & {each.name for each in stays}


@pytest.mark.parametrize(
    ("other", "allowed", "refuses"),
    [
        ({}, (), True),
        ({}, ("sear*",), False),
        ({}, ("web",), True),
        ({"owner": "Job"}, (), False),
        ({"phase": "Failed"}, (), False),
        ({"terminating": True}, (), False),
        ({"is_static": True}, (), False),
        ({"kubernetes_node": "w-1"}, (), False),
    ],
)
def test_a_pod_that_nothing_makes_again_refuses_the_drain(
    other: dict[str, Any], allowed: tuple[str, ...], refuses: bool
) -> None:
    alone = pod("alone", **{"owner": "", **other})
    assert unmanaged([alone], [NODE], allowed) == ((alone,) if refuses else ())
    codes = [each.code for each in judge_undrainable([alone], [NODE], allowed).reasons]
    assert codes == (["pods_without_controller"] if refuses else [])


def test_pods_whose_data_goes_with_them_are_counted() -> None:
    pods = [pod("a", has_scratch=True), pod("b", has_scratch=True, owner="DaemonSet"), pod("c")]
    (reason,) = judge_undrainable(pods, [NODE]).reasons
    assert (reason.state, reason.code) == (State.PASSED, "scratch_data_lost")
    assert "will be drained: 1." in reason.message
