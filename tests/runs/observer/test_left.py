"""The invariants about what is changed for a while: each is silent about what is right, and says what is wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.runs.observer import left
from tests.runs.observer.examples import (
    GOOD,
    KEY,
    NO_MEMBERS,
    ON_DELETE,
    POOL,
    ROLLING,
    one,
    with_member,
    with_pod,
    with_pool,
)
from tests.runs.observer.sight import ANNOTATION, UNDO, Shard, Sight

ENABLE = ("persistent", "cluster.routing.allocation.enable")


def undo_of(*changes: tuple[tuple[str, ...], Any, Any], **more: Any) -> str:
    """An undo as it is written."""
    return json.dumps({"changes": [{"path": path, "was": was, "set_to": to} for path, was, to in changes], **more})


def carrying(text: str, settings: Any) -> Sight:
    """The sight with settings, and an undo in the cluster."""
    return replace(GOOD, settings={**settings, ("persistent", UNDO): text})


SET = {ENABLE: "primaries"}
NAMED = carrying(undo_of((ENABLE, None, "primaries")), SET)


class TestUndo:
    def test_it_names_all(self) -> None:
        pool = with_pool(
            GOOD, strategy=ROLLING, annotations={ANNOTATION: undo_of((("spec", "updateStrategy"), ON_DELETE, ROLLING))}
        )
        excluded = replace(carrying(undo_of(voting_exclusions=["m-0"]), {}), excluded=("m-0",))
        retired = replace(GOOD, settings={("persistent", "old"): 1})
        assert not [*left.named_by_undo(GOOD, NAMED)]
        assert not [*left.named_by_undo(GOOD, pool)]
        assert not [*left.named_by_undo(GOOD, excluded)]
        assert not [*left.named_by_undo(retired, replace(GOOD, retired=frozenset({"old"})))]

    @pytest.mark.parametrize(
        ("now", "said"),
        [
            (replace(GOOD, settings=SET), "no undo names it"),
            (carrying(undo_of((ENABLE, "all", "primaries")), SET), "the undo names 'all'"),
            (replace(GOOD, excluded=("m-0",)), "m-0 is excluded from voting"),
            (with_pool(GOOD, strategy=ROLLING), "the strategy of m is"),
        ],
    )
    def test_it_does_not(self, now: Sight, said: str) -> None:
        assert said in one(left.named_by_undo(GOOD, now))

    def test_the_manifest_that_is_kept_is_the_undo_of_a_set_that_is_made_again(self) -> None:
        kept = replace(GOOD, pools={}, kept_sets={"m": POOL})
        again = replace(with_pool(GOOD, strategy=ROLLING), kept_sets={"m": POOL})
        for now in (GOOD, kept, again):
            assert not [*left.sets_kept(GOOD, now), *left.named_by_undo(GOOD, now)]
        other = replace(again, kept_sets={"m": replace(POOL, strategy=ROLLING)})
        assert "the strategy of m is" in one(left.named_by_undo(GOOD, other))
        assert one(left.sets_kept(GOOD, replace(GOOD, pools={}))).endswith("no manifest of it is kept")

    def test_what_others_change_is_as_before(self) -> None:
        changed = replace(with_pool(GOOD, strategy=ROLLING, spec={"other": 1}), settings={ENABLE: "all"})
        first = left.after_others(GOOD, GOOD, changed)
        assert not [*left.named_by_undo(first, changed)]
        assert one(left.named_by_undo(first, replace(changed, settings={}))).endswith("no undo names it")

    def test_a_name_that_another_adds_to_the_list_of_a_run_stays_alone(self) -> None:
        key = ("persistent", "cluster.routing.allocation.exclude._name")
        was = carrying(undo_of((key, None, "m-0")), {key: "m-0"})
        now = carrying(was.undo, {key: "m-0,m-9"})
        assert left.after_others(GOOD, was, now).settings == {key: "m-9"}

    def test_a_value_that_the_run_could_not_see_is_lost_without_its_fault(self) -> None:
        key, other = ("persistent", "cluster.routing.allocation.enable"), ("persistent", "cluster.max_shards_per_node")
        first = replace(GOOD, settings={key: "all", other: 2000})
        was, now = replace(GOOD, settings={key: "all", other: 2000}), replace(GOOD, settings={other: 2000})
        assert left.without_unseen(first, was, now, {key: None, other: None}).settings == {other: 2000}
        assert left.without_unseen(first, was, now, {}).settings == first.settings


class TestEnd:
    DONE = replace(
        GOOD,
        members={name: replace(each, version="3.0.0") for name, each in GOOD.members.items()},
        pools={"m": replace(POOL, images={"opensearch": "opensearch:3"})},
        holder="",
    )

    def test_all_is_as_before(self) -> None:
        held = {KEY: frozenset({"m-0", "m-1"})}
        hit = with_pod(
            with_member(replace(self.DONE, shards={KEY: Shard(2, frozenset({"m-0"}))}), "m-1", joined=False),
            "m-1",
            going=True,
        )
        assert not [*left.all_put_back(GOOD, self.DONE)]
        assert not [*left.all_there(GOOD, self.DONE, "3.0.0", NO_MEMBERS, held)]
        assert not [*left.all_there(GOOD, hit, "3.0.0", {"m-1"}, held)]
        assert len([*left.all_there(GOOD, hit, "3.0.0", NO_MEMBERS, held)]) == 3

    @pytest.mark.parametrize(
        ("now", "said"),
        [
            (replace(DONE, settings=SET), "was None and is 'primaries'"),
            (carrying("{}", {}), "still carries an undo"),
            (replace(DONE, excluded=("m-0",)), "excluded from voting"),
            (replace(DONE, holder="run"), "still held by run"),
            (replace(DONE, indices={"orders": {"uuid": "u"}}), "the settings of index orders"),
            (with_pool(DONE, strategy=ROLLING), "the strategy of m"),
            (with_pool(DONE, annotations={ANNOTATION: "x"}), "the annotations of m"),
            (with_pool(DONE, spec={"replicas": 2}), "the spec of m"),
            (replace(DONE, pools={}), "the pools were m"),
            (replace(DONE, kept_sets={"m": POOL}), "the manifests of m are still kept"),
        ],
    )
    def test_something_is_left(self, now: Sight, said: str) -> None:
        assert any(said in each for each in left.all_put_back(GOOD, now))

    def test_claims_have_the_size_that_they_were_to_have(self) -> None:
        def claiming(sight: Sight, size: str) -> Sight:
            return with_pool(sight, spec={"volumeClaimTemplates": [{"resources": {"requests": {"storage": size}}}]})

        before, done = claiming(GOOD, "1Gi"), claiming(self.DONE, "2Gi")
        assert not [*left.all_put_back(before, done, "2Gi")]
        for size in ("", "3Gi"):
            assert "the spec of m" in one(left.all_put_back(before, done, size))

    def test_a_member_is_behind(self) -> None:
        behind = with_member(self.DONE, "m-2", version="2.0.0")
        assert one(left.all_there(GOOD, behind, "3.0.0", NO_MEMBERS, {})) == "m-2 is not on 3.0.0"

    def test_documents(self) -> None:
        before = {(KEY, "u"): [frozenset({"1", "2"})]}
        assert not [*left.documents_kept(before, {(KEY, "u"): [frozenset({"1", "2", "3"})]})]
        assert not [*left.documents_kept(before, {(KEY, "made again"): [frozenset[str]()]})]
        assert "lacks documents: 2" in one(left.documents_kept(before, {(KEY, "u"): [frozenset({"1"})]}))

    def test_after_a_failure_the_undo_names_exactly_the_difference(self) -> None:
        assert not [*left.exactly_named(GOOD, GOOD)]
        assert not [*left.exactly_named(GOOD, NAMED)]
        assert not [*left.exactly_named(replace(GOOD, settings={ENABLE: "all"}), carrying(NAMED.undo, {ENABLE: "all"}))]
        assert "does not name it so" in one(left.exactly_named(GOOD, replace(GOOD, settings=SET)))
        assert "it was 'all'" in next(iter(left.exactly_named(replace(GOOD, settings={ENABLE: "all"}), NAMED)))
