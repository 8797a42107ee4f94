"""The judges of extra machines: tables, and the machines that go among random ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.reading import Unreadable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.extra_machines.judge import adding, leaving
from ansible_collections.stateful.upgrade.plugins.module_utils.extra_machines.observe.reading import preferred_version
from ansible_collections.stateful.upgrade.plugins.module_utils.extra_machines.observe.state import (
    OUR_MARK,
    REPLICAS,
    Machine,
    MachineDeployment,
    Members,
    is_known,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Change, Undo, Writer
from hypothesis import given
from hypothesis import strategies as st

PLAIN = MachineDeployment(
    namespace="clusters",
    name="workers",
    uid="u",
    replicas=4,
    ready=4,
    up_to_date=4,
    observed=True,
    paused=False,
    going=False,
    most=None,
    by_topology=False,
    undo=Undo(Writer("run-1", "t"), (Change(REPLICAS, 3, 4),)),
    raw={},
)
NOBODY = Members({})


def machine(name: str, **more: Any) -> Machine:
    """A Ready machine on a Kubernetes node of its own."""
    plain = Machine(
        name, f"u-{name}", "1", "set", f"node-{name}", "Running", True, "", "2026-01-01T00:00:00Z", False, None
    )
    return replace(plain, **more)


FOUR = tuple(machine(name) for name in "abcd")


def codes(verdict: Verdict) -> list[str]:
    """The codes of its reasons, each with its state."""
    return [f"{each.code} {each.state.value}" for each in verdict.reasons]


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (PLAIN, []),
        (replace(PLAIN, ready=5), []),
        (replace(PLAIN, ready=3), ["MachineDeployment clusters/workers has 3 of 4 machines Ready."]),
        (replace(PLAIN, observed=False), ["MachineDeployment clusters/workers does not have all 4 machines Ready."]),
    ],
)
def test_the_machines_of_the_present_spec_have_to_be_ready(seen: MachineDeployment, said: list[str]) -> None:
    assert [each.message for each in adding.judge_ready(seen, FOUR).reasons] == said


def test_the_newest_machine_that_is_not_ready_is_named_with_its_last_word() -> None:
    old = machine("a", ready=False, phase="Failed", message="Gone.")
    new = machine("b", ready=False, phase="", created="2026-02-01T00:00:00Z")
    going = machine("c", ready=False, going=True, created="2026-03-01T00:00:00Z")
    seen = replace(PLAIN, ready=2)
    (reason,) = adding.judge_ready(seen, (old, new, going)).reasons
    assert reason.message.endswith("Ready; machine b is new.")
    (reason,) = adding.judge_ready(seen, (old,)).reasons
    assert reason.message.endswith("Ready; machine a is Failed: Gone.")


@pytest.mark.parametrize(
    ("seen", "extra", "said"),
    [
        (PLAIN, 1, []),
        (replace(PLAIN, most=5), 1, []),
        (replace(PLAIN, most=5), 2, ["machines_above_maximum refused"]),
        (PLAIN, 0, ["extra_not_positive refused"]),
        (PLAIN, -1, ["extra_not_positive refused"]),
        (replace(PLAIN, by_topology=True), 1, ["machines_set_by_topology refused"]),
    ],
)
def test_nothing_may_take_more_machines_back(seen: MachineDeployment, extra: int, said: list[str]) -> None:
    assert codes(adding.judge_addable(seen, extra)) == said


@pytest.mark.parametrize(
    ("seen", "machines", "members", "said"),
    [
        (PLAIN, FOUR, NOBODY, []),
        (replace(PLAIN, paused=True), FOUR, NOBODY, ["machine_deployment_paused waiting"]),
        (replace(PLAIN, up_to_date=3), FOUR, NOBODY, ["machines_roll_out waiting"]),
        (PLAIN, (*FOUR[:3], machine("d", machine_set="other")), NOBODY, ["machines_roll_out waiting"]),
        (replace(PLAIN, observed=False), FOUR, NOBODY, ["machines_unsettled waiting"]),
        (PLAIN, FOUR[:3], NOBODY, ["machines_unsettled waiting"]),
        (PLAIN, (*FOUR, machine("e")), NOBODY, ["machines_unsettled waiting"]),
        (PLAIN, FOUR, Members({}, ("data-0",)), ["members_without_node waiting"]),
    ],
)
def test_machines_are_chosen_only_once_it_is_known_which_ones_would_go(
    seen: MachineDeployment, machines: tuple[Machine, ...], members: Members, said: list[str]
) -> None:
    assert codes(leaving.judge_settled(seen, machines, members)) == said


@pytest.mark.parametrize(
    ("machines", "held", "count", "chosen"),
    [
        (FOUR, "", 1, "d"),
        (FOUR, "d", 1, "c"),
        (FOUR, "", 0, ""),
        ((*FOUR[:3], machine("d", created="2025-01-01T00:00:00Z")), "", 2, "cb"),
        ((machine("a", kubernetes_node=""), *FOUR[1:]), "", 1, "a"),
        ((machine("a", mark=OUR_MARK), machine("b", kubernetes_node=""), *FOUR[2:]), "", 1, "a"),
        ((machine("a", mark="yes"), machine("b", mark=OUR_MARK), *FOUR[2:]), "", 1, "a"),
        ((machine("a", going=True), *FOUR[1:]), "", 1, ""),
        ((machine("a", going=True), *FOUR[1:]), "", 2, "d"),
        ((machine("a", going=True), *FOUR[1:]), "a", 2, "d"),
    ],
)
def test_the_order_in_which_machines_are_chosen(
    machines: tuple[Machine, ...], held: str, count: int, chosen: str
) -> None:
    members = Members({f"node-{name}": (f"pod-{name}",) for name in held})
    choice = leaving.choose(PLAIN, machines, members, count)
    assert "".join(each.name for each in choice.chosen) == chosen
    assert choice.verdict.passed


@pytest.mark.parametrize(
    ("was", "set_to", "known"),
    [(3, 4, True), (0, 1, True), (4, 4, False), (4, 3, False), (-1, 2, False), (True, 4, False), ("3", 4, False)],
)
def test_only_more_machines_are_a_change_of_a_run(was: Any, set_to: Any, known: bool) -> None:
    assert is_known(Change(REPLICAS, was, set_to)) is known
    assert not is_known(Change(("spec", "paused"), was, set_to))


def test_a_version_that_is_known_is_asked_for() -> None:
    def group(preferred: str, *served: str) -> dict[str, Any]:
        return {"preferredVersion": {"version": preferred}, "versions": [{"version": each} for each in served]}

    known = ("v1beta2", "v1beta1")
    assert preferred_version(group("v1beta1", "v1beta1", "v1beta2"), known) == "v1beta1"
    assert preferred_version(group("v1", "v1", "v1beta2", "v1beta1"), known) == "v1beta2"
    with pytest.raises(Unreadable, match="are v1alpha4, and have to be one of v1beta2, v1beta1"):
        preferred_version(group("v1alpha4", "v1alpha4"), known)


NAMES = "abcdefgh"
ANY_MACHINE = st.builds(
    machine,
    st.sampled_from(NAMES),
    kubernetes_node=st.sampled_from(["", *(f"node-{each}" for each in NAMES)]),
    created=st.sampled_from([f"2026-0{month}-01T00:00:00Z" for month in range(1, 5)]),
    going=st.booleans(),
    mark=st.sampled_from([None, None, OUR_MARK, "yes"]),
)
ANY_MACHINES = st.lists(ANY_MACHINE, unique_by=(lambda each: each.name), max_size=8).map(tuple)
ANY_MEMBERS = st.sets(st.sampled_from(NAMES)).map(
    lambda names: Members({f"node-{each}": (f"pod-{each}",) for each in names})
)


def deleted_by_cluster_api(machines: tuple[Machine, ...], marked: set[str], count: int) -> set[str]:
    """The machines that a MachineSet deletes to have `count` fewer, whatever it thinks of those without a mark."""

    def rank(each: Machine) -> tuple[int, str]:
        return (0 if each.going else 1 if each.name in marked else 2), each.name

    return {each.name for each in sorted(machines, key=rank)[:count]}


@given(ANY_MACHINES, ANY_MEMBERS, st.integers(0, 8))
def test_no_machine_with_a_member_is_ever_deleted_and_never_more_than_asked(
    machines: tuple[Machine, ...], members: Members, count: int
) -> None:
    choice = leaving.choose(PLAIN, machines, members, count)
    held = {each.name for each in machines if members.on.get(each.kubernetes_node)}
    going = {each.name for each in machines if each.going}
    assert not {each.name for each in choice.chosen} & (held | going)
    assert len(choice.chosen) <= max(0, count - len(going))
    assert set(choice.to_mark) <= set(choice.chosen)
    assert all(each.ours and each not in choice.chosen for each in choice.to_unmark)
    if not choice.verdict.passed or count > len(machines):
        return
    marks = {each.name for each in machines if each.mark is not None}
    marks = (marks | {each.name for each in choice.to_mark}) - {each.name for each in choice.to_unmark}
    assert not deleted_by_cluster_api(machines, marks, count) & (held - going)


@given(ANY_MACHINES, ANY_MEMBERS, st.integers(0, 8))
def test_a_choice_that_was_marked_is_the_same_at_the_next_look(
    machines: tuple[Machine, ...], members: Members, count: int
) -> None:
    first = leaving.choose(PLAIN, machines, members, count)
    marked = tuple(
        replace(each, mark=OUR_MARK)
        if each in first.to_mark
        else replace(each, mark=None)
        if each in first.to_unmark
        else each
        for each in machines
    )
    again = leaving.choose(PLAIN, marked, members, count)
    assert {each.name for each in again.chosen} == {each.name for each in first.chosen}
    assert (again.to_mark, again.to_unmark) == ((), ())
