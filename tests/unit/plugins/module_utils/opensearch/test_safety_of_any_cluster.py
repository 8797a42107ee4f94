"""The safety rules against random clusters, judged a second time from their definition.

The checker here reads the servers' answers by itself and shares nothing with the judge: no parser, no data class, no
rule. Both must come to the same answer on every cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.index_names import EVERY
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.proof import Proofs
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.quorum import successors
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import judge_batch, judge_consent
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import parse_state
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    coordination,
    copy,
    identity,
    info,
    state_answer,
)
from hypothesis import event, given, settings
from hypothesis import strategies as st

MANY, MORE = settings(max_examples=150), settings(max_examples=400)


@dataclass(frozen=True)
class Case:
    """A cluster as its servers answer, and what is asked of it."""

    nodes: Json
    answer: Json
    batch: tuple[str, ...]
    policy: Policy

    @property
    def state(self) -> ClusterState:
        return parse_state(self.nodes, self.answer)

    def verdict(self) -> State:
        return judge_batch(self.state, self.batch, self.policy).state


@st.composite
def shards(draw: st.DrawFn, names: list[str], index: str) -> list[Json]:
    """One shard: a primary, or none in search-only mode, with replicas and copies for search on different members."""
    order = draw(st.permutations(names))
    kinds = ["replica"] * draw(st.integers(0, 2)) + ["search"] * draw(st.integers(0, 2))
    if draw(st.integers(0, 9)) or "search" not in kinds:
        kinds.insert(0, "primary")
    kinds = [kind for kind in kinds if kind == "search"] if "primary" not in kinds else kinds
    places = iter(order)
    return [_copy(draw, places, f"{index}/0", kind) for kind in kinds[: len(order)]]


def _copy(draw: st.DrawFn, places: Iterator[str], place: str, kind: str) -> Json:
    primary, search_only = kind == "primary", kind == "search"
    state = draw(st.sampled_from(["STARTED"] * 6 + ["UNASSIGNED", "INITIALIZING", "RELOCATING"]))
    if state == "UNASSIGNED":
        return copy(place, None, primary=primary, search_only=search_only)
    member = next(places, None)
    target = next(places, None) if state == "RELOCATING" and member else None
    if member is None:
        return copy(place, None, primary=primary, search_only=search_only)
    said = "INITIALIZING" if state == "INITIALIZING" else ""
    return copy(place, member, said, primary=primary, to=target, search_only=search_only)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Up to seven members, in addition to which others may be gone, up to five shards, and any batch of them."""
    names = [f"m{number}" for number in range(draw(st.integers(1, 7)))]
    roles = st.sampled_from(
        [("cluster_manager", "data")] * 3
        + [("data", "ingest"), ("ingest",), ("ml", "remote_cluster_client"), ()]
        + [("master", "voting_only"), ("master", "voting_only", "data")]
    )
    nodes = {identity(name): info(name, roles=draw(roles)) for name in names}
    copies = [one for number in range(draw(st.integers(0, 5))) for one in draw(shards(names, f"i{number}"))]
    voters = st.lists(st.sampled_from([*names, "gone-1", "gone-2"]), unique=True, max_size=5)
    committed = draw(voters)
    accepted = committed if draw(st.booleans()) else draw(voters)
    exclusions = ["gone-1"] if draw(st.integers(0, 15)) == 0 else []
    elected = draw(st.sampled_from([*names, *names, "gone-1", None]))
    voting = coordination(committed, accepted, exclusions)
    answer = state_answer(names, copies, elected=elected, voting=voting)
    batch = draw(st.lists(st.sampled_from([*names, "gone-1"]), unique=True, min_size=1, max_size=3))
    quorum, hands_over = (draw(st.booleans()) for _option in range(2))
    indices = st.sampled_from(sorted({one["index"] for one in copies} or {"none"}))
    single, red = draw(st.frozensets(indices, max_size=3)), draw(st.frozensets(indices, max_size=1))
    return Case(nodes, answer, tuple(batch), Policy(single, quorum, hands_over, red))


class Definition:
    """The definition of a batch that may go down, on the servers' answers."""

    def __init__(self, case: Case) -> None:
        self.policy = case.policy
        self.nodes = case.nodes
        self.alive = set(case.nodes) & set(case.answer["nodes"])
        self.batch = {node for node, one in case.nodes.items() if one["name"] in case.batch} & self.alive
        self.coordination = case.answer["metadata"]["cluster_coordination"]
        self.elected = case.answer.get("cluster_manager_node")
        self.shards: dict[tuple[str, str], list[Json]] = {}
        for index, table in case.answer["routing_table"]["indices"].items():
            for shard, copies in table["shards"].items():
                self.shards[(index, shard)] = copies

    def holds(self) -> bool:
        return (
            self.copies_stay()
            and self.no_recovery_is_disturbed()
            and self.majority_stays("last_committed_config")
            and self.majority_stays("last_accepted_config")
            and self.somebody_can_be_elected()
            and not self.coordination["voting_config_exclusions"]
            and self.elected in self.alive
            and (self.elected not in self.batch or len(self.batch) == 1 or self.may_hand_over())
            and all(self.somebody_serves(role) for role in ("ingest", "ml", ""))
        )

    def somebody_serves(self, role: str) -> bool:
        """Of several members with a role, or of several without any (``""``), one stays."""
        others = {"remote_cluster_client", "voting_only"}
        roles = {node: set(self.nodes[node]["roles"]) - others for node in self.alive}
        serving = {node for node, own in roles.items() if (role in own if role else not own)}
        return len(serving) < 2 or bool(serving - self.batch)

    def may_hand_over(self) -> bool:
        """Those who stay can elect one of themselves in both configurations, and whoever acts lets them."""
        configurations = [set(self.coordination[f"last_{which}_config"]) for which in ("committed", "accepted")]
        staying = self.alive - self.batch
        majority = all(len(voters & staying) > len(voters) / 2 for voters in configurations)
        return self.policy.hands_over and majority and bool(self.electable() & staying)

    def electable(self) -> set[str]:
        roles = {node: set(self.nodes[node]["roles"]) for node in self.alive}
        return {node for node, own in roles.items() if own & {"cluster_manager", "master"} and "voting_only" not in own}

    def somebody_can_be_elected(self) -> bool:
        """One of those who stay can be elected if the majority stays, or the user consents and none is to come."""
        configurations = [set(self.coordination[f"last_{which}_config"]) for which in ("committed", "accepted")]
        for voters in configurations:
            if voters & self.batch and len((voters & self.alive) - self.batch) <= len(voters) / 2:
                return True
        if not self.electable() or self.electable() - self.batch:
            return True
        return self.policy.allow_quorum_loss and not set.union(*configurations) - self.alive

    def copies_stay(self) -> bool:
        """A shard, and its copies for search, that lose something keep something started elsewhere."""
        for copies in self.shards.values():
            for for_search in (False, True):
                group = [one for one in copies if one["searchOnly"] is for_search]
                touched = any(one["node"] in self.batch or one["relocating_node"] in self.batch for one in group)
                if touched and not self.serving(group) and not self.consented(group):
                    return False
        return True

    def serving(self, group: list[Json]) -> bool:
        working = {one["node"] for one in group if one["state"] in ("STARTED", "RELOCATING")}
        return bool((working & self.alive) - self.batch)

    def consented(self, group: list[Json]) -> bool:
        """The only copy there will ever be, not on its way out, and the user allows it; or its index may be red."""
        (one, *others) = group
        if one["index"] in self.policy.allow_red_indices:
            return True
        leaves = one["relocating_node"] is not None and one["relocating_node"] not in self.batch
        allowed = one["index"] in self.policy.allow_single_copy
        return allowed and not others and one["node"] in self.batch and not leaves

    def no_recovery_is_disturbed(self) -> bool:
        for copies in self.shards.values():
            primary = [one["node"] for one in copies if one["primary"]]
            for one in copies:
                if one["state"] in ("INITIALIZING", "RELOCATING"):
                    involved = {one["node"], one["relocating_node"], *primary}
                    if involved & self.batch:
                        return False
        return True

    def majority_stays(self, configuration: str) -> bool:
        voters = set(self.coordination[configuration])
        if not voters & self.batch:
            return True
        if len((voters & self.alive) - self.batch) > len(voters) / 2:
            return True
        could_ever_stay = len(voters - self.batch) > len(voters) / 2
        return self.policy.allow_quorum_loss and not could_ever_stay


def healed(case: Case) -> Case:
    """The same cluster when time has fixed what it can: recoveries done, members back, an election over."""
    answer, nodes = deepcopy(case.answer), dict(case.nodes)
    voting = answer["metadata"]["cluster_coordination"]
    names = [one["name"] for one in nodes.values()]
    for node in {*answer["nodes"], *voting["last_committed_config"], *voting["last_accepted_config"]}:
        name = node.removeprefix(identity(""))
        nodes.setdefault(node, info(name))
        answer["nodes"].setdefault(node, {"name": name, "ephemeral_id": name})
        names.append(name)
    if answer.get("cluster_manager_node") not in nodes:
        outside = [node for node in sorted(nodes) if nodes[node]["name"] not in case.batch]
        answer["cluster_manager_node"] = (outside or sorted(nodes))[0]
    for table in answer["routing_table"]["indices"].values():
        for copies in table["shards"].values():
            _start(copies, nodes, case.batch)
    return Case(nodes, answer, case.batch, case.policy)


def _start(copies: list[Json], nodes: Json, batch: Collection[str]) -> None:
    for one in copies:
        one["node"] = one["relocating_node"] or one["node"]
        one["relocating_node"] = None
    taken = {one["node"] for one in copies}
    free = sorted((node for node in nodes if node not in taken), key=lambda node: nodes[node]["name"] in batch)
    for one in copies:
        one["node"] = one["node"] or (free.pop(0) if free else None)
        one["state"] = "STARTED" if one["node"] else "UNASSIGNED"


@MORE
@given(cases())
def test_the_judge_and_the_definition_agree(case: Case) -> None:
    verdict = judge_batch(case.state, case.batch, case.policy)
    event(verdict.state.value)
    assert verdict.passed == Definition(case).holds(), verdict


@MANY
@given(cases(), st.data())
def test_without_the_answer_of_one_member_nothing_is_judged(case: Case, data: st.DataObject) -> None:
    nodes = dict(case.nodes)
    del nodes[data.draw(st.sampled_from(sorted(nodes)))]
    with pytest.raises(Unreachable):
        parse_state(nodes, case.answer)


@MANY
@given(cases())
def test_what_waits_is_cured_by_time_and_what_is_refused_is_not(case: Case) -> None:
    now, later = case.verdict(), healed(case).verdict()
    event(f"{now.value}, then {later.value}")
    assert later is not State.WAITING
    if now is State.REFUSED:
        assert later is State.REFUSED


@MANY
@given(cases())
def test_consent_only_widens_what_may_go(case: Case) -> None:
    strict = Case(case.nodes, case.answer, case.batch, Policy())
    free = Case(case.nodes, case.answer, case.batch, Policy(allow_single_copy=EVERY, allow_quorum_loss=True))
    assert free.verdict() is State.PASSED or strict.verdict() is not State.PASSED


@MANY
@given(cases())
def test_a_hand_over_only_widens_what_may_go_and_never_without_somebody_to_hand_over_to(case: Case) -> None:
    keeps, gives = (
        Case(case.nodes, case.answer, case.batch, replace(case.policy, hands_over=each)) for each in (False, True)
    )
    assert gives.verdict() is State.PASSED or keeps.verdict() is not State.PASSED
    if keeps.verdict() is not State.PASSED and gives.verdict() is State.PASSED:
        definition, heirs = Definition(gives), successors(gives.state, gives.state.ids(gives.batch))
        assert heirs
        assert heirs <= definition.alive - definition.batch
        votes = set(definition.coordination["last_committed_config"])
        assert heirs <= (votes if votes & definition.electable() & heirs else definition.electable())


@MANY
@given(cases())
def test_a_plan_that_asked_for_consent_is_not_refused_for_it_later(case: Case) -> None:
    """A member for which `judge_consent` passes is never refused as a batch of one on a healed cluster."""
    case = healed(case)
    state = case.state
    if state.voting.exclusions:
        return
    for name in case.batch:
        asked = judge_consent(state, [name], case.policy)
        assert asked.passed == judge_batch(state, [name], case.policy).passed


@MANY
@given(cases())
def test_the_proof_counts_what_the_definition_counts(case: Case) -> None:
    definition = Definition(case)
    groups: dict[tuple[str, str, bool], list[Json]] = defaultdict(list)
    for (index, shard), copies in definition.shards.items():
        for one in copies:
            groups[(index, shard, one["searchOnly"])].append(one)
    touched = [group for group in groups.values() if any(one["node"] in definition.batch for one in group)]
    kept = sum(definition.serving(group) for group in touched)
    said = Proofs(case.state).of(case.batch)
    if not touched:
        assert said.startswith("The batch holds no shard, ")
    elif kept == len(touched):
        assert said.startswith(f"Every shard of the batch keeps a started copy elsewhere ({kept} of {kept})")
    else:
        assert said.startswith(f"{kept} of {len(touched)} shards of the batch keep a started copy elsewhere; ")
