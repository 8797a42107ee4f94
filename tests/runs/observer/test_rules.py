"""The invariants about members and the order of acts: each is silent about what is right, and says what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.runs.observer import acts, order, rules
from tests.runs.observer.examples import (
    ALL,
    GOOD,
    KEY,
    NO_MEMBERS,
    ON_DELETE,
    ROLLING,
    one,
    with_copies,
    with_member,
    with_pod,
    with_pool,
)
from tests.runs.observer.lock import Held, LockLook, under_lock
from tests.runs.observer.order import Look, Progress
from tests.runs.observer.rules import Takedown
from tests.runs.observer.sight import Consents, Key, Pod, Sight
from tests.sandbox.web import Request

FIRST = Takedown(frozenset({"m-0"}))
HELD = {KEY: frozenset({"m-0", "m-1"})}


class TestCopies:
    ONLY = with_copies(2, "m-0")

    @pytest.mark.parametrize(
        ("now", "seen", "consents"),
        [
            (GOOD, GOOD, Consents()),
            (with_copies(2, "m-1"), with_copies(2, "m-1"), Consents()),
            (ONLY, ONLY, Consents(red=("ord*",))),
            (with_copies(1, "m-0"), with_copies(1, "m-0"), Consents(single_copy=("orders",))),
            (ONLY, GOOD, Consents()),
            (ONLY, replace(GOOD, shards={}), Consents()),
        ],
        ids=[
            "another copy",
            "none of it",
            "red allowed",
            "single allowed",
            "lost since the look",
            "made since the look",
        ],
    )
    def test_a_copy_stays(self, now: Sight, seen: Sight, consents: Consents) -> None:
        assert not [*rules.kept_copies(now, seen, FIRST, consents)]

    def test_the_last_copy_goes(self) -> None:
        said = one(rules.kept_copies(self.ONLY, self.ONLY, FIRST, Consents(single_copy=("orders",))))
        assert said == "m-0 goes down with the last started copy of orders[0]"

    def test_the_other_copy_is_on_a_pod_that_goes(self) -> None:
        now = with_pod(GOOD, "m-1", going=True)
        assert "the other copies are on m-1" in one(rules.kept_copies(now, now, FIRST, Consents()))

    def test_the_other_copy_is_in_the_batch(self) -> None:
        both = Takedown(frozenset({"m-0", "m-1"}))
        assert "orders[0]" in one(rules.kept_copies(GOOD, GOOD, both, Consents()))
        second = Takedown(frozenset({"m-0"}), frozenset({"m-1"}))
        assert "orders[0]" in one(rules.kept_copies(GOOD, GOOD, second, Consents()))


class TestServed:
    LOST = with_copies(2)

    @pytest.mark.parametrize(
        ("now", "held", "hit", "consents"),
        [
            (GOOD, HELD, NO_MEMBERS, Consents()),
            (LOST, HELD, frozenset({"m-1"}), Consents()),
            (LOST, HELD, NO_MEMBERS, Consents(red=("*",))),
            (with_copies(2, fresh=True), HELD, NO_MEMBERS, Consents()),
            (LOST, {}, NO_MEMBERS, Consents()),
        ],
        ids=["served", "by a fault", "by consent", "new", "never served"],
    )
    def test_it_is_right(
        self, now: Sight, held: Mapping[Key, frozenset[str]], hit: frozenset[str], consents: Consents
    ) -> None:
        assert not [*rules.served(now, held, hit, consents)]

    def test_a_shard_has_no_copy(self) -> None:
        said = one(rules.served(self.LOST, HELD, frozenset({"m-2"}), Consents()))
        assert said == "orders[0] has no started copy on a member that runs; it was on m-0, m-1"


class TestQuorum:
    ONE_LEFT = with_member(with_member(GOOD, "m-0", booted=False), "m-1", booted=False)

    def test_a_majority_runs(self) -> None:
        assert not [*rules.kept_majority(with_member(GOOD, "m-0", booted=False), NO_MEMBERS, Consents())]
        assert not [*rules.kept_majority(self.ONE_LEFT, frozenset({"m-0"}), Consents())]
        assert not [*rules.kept_majority(self.ONE_LEFT, NO_MEMBERS, Consents(quorum_loss=True))]

    def test_none_does(self) -> None:
        assert len([*rules.kept_majority(self.ONE_LEFT, NO_MEMBERS, Consents())]) == 2

    def test_one_configuration_is_enough_to_be_wrong(self) -> None:
        now = replace(with_member(GOOD, "m-0", booted=False), accepted=frozenset({"m-0"}))
        assert one(rules.kept_majority(now, NO_MEMBERS, Consents())).startswith(
            "no member is no majority of the accepted"
        )


class TestDeletions:
    def test_the_precondition_names_the_pod(self) -> None:
        assert not [*rules.right_pod(GOOD, "m-0", "uid of m-0")]
        assert "without its UID" in one(rules.right_pod(GOOD, "m-0", ""))
        assert "names the UID another" in one(rules.right_pod(GOOD, "m-0", "another"))

    def test_a_member_that_is_done_stays(self) -> None:
        assert not [*rules.not_done(GOOD, FIRST)]
        assert not [*rules.not_done(with_pool(with_pod(GOOD, "m-0", revision="new"), revision=""), FIRST)]
        assert "of the revision new" in one(rules.not_done(with_pod(GOOD, "m-0", revision="new"), FIRST))

    def test_one_batch_is_away(self) -> None:
        second = Takedown(frozenset({"m-0"}), frozenset({"m-1"}))
        planned = replace(GOOD, upgrading=(frozenset({"m-0", "m-1"}),))
        same_zone = with_member(with_member(planned, "m-0", zone="a"), "m-1", zone="a")
        assert not [*rules.one_batch(GOOD, FIRST, "serial")]
        assert not [*rules.one_batch(planned, second, "disjoint")]
        assert not [*rules.one_batch(same_zone, second, "zones")]
        assert "m-1 is away" in one(rules.one_batch(planned, second, "serial"))
        assert "of the zones 0, 1" in one(rules.one_batch(planned, second, "zones"))
        assert "the batch at work is m-0" in one(rules.one_batch(GOOD, second, "disjoint"))


class TestOthers:
    @pytest.mark.parametrize(
        "seen",
        [
            GOOD,
            with_member(GOOD, "m-0", joined=False),
            with_member(with_member(GOOD, "m-0", joined=False), "m-1", joined=False),
            replace(with_member(GOOD, "m-1", joined=False), upgrading=(frozenset({"m-0", "m-1"}),)),
        ],
        ids=["all there", "it is away itself", "cured while another is away", "the other is of the batch"],
    )
    def test_nothing_else_is_down(self, seen: Sight) -> None:
        assert not [*rules.others_stand(seen, seen.pods, FIRST)]

    @pytest.mark.parametrize(
        ("seen", "said"),
        [
            (with_member(GOOD, "m-1", joined=False), "m-1 is not in the cluster"),
            (with_pod(GOOD, "m-1", going=True), "m-1 has a pod that is going"),
            (with_pod(GOOD, "m-1", ready=False), "m-1 has a pod that is not Ready"),
            (replace(GOOD, pods={"m-0": Pod("u"), "m-2": Pod("v")}), "m-1 has no pod"),
        ],
    )
    def test_another_one_is_down(self, seen: Sight, said: str) -> None:
        assert one(rules.others_stand(seen, seen.pods, FIRST)) == f"m-0 goes down while {said}"

    def test_a_batch_that_is_down_is_brought_back_while_another_pod_is_not_ready(self) -> None:
        both = with_pod(with_pod(GOOD, "m-0", ready=False), "m-1", ready=False)
        assert not [*rules.others_stand(both, both.pods, FIRST)]
        gone = with_member(both, "m-1", joined=False)
        assert one(rules.others_stand(gone, gone.pods, FIRST)).endswith("m-1 is not in the cluster")


class TestProof:
    LOOKED = Progress(cluster=Look(7, 10.0, GOOD), pods=Look(6, 10.0, GOOD), changed=5)
    MOVED = with_copies(2, "m-0", "m-2")

    def said(self, now: Sight, at: float, progress: Progress, taken: Takedown = FIRST) -> list[str]:
        return [*order.fresh_proof(now, at, taken, progress, 5.0)]

    def test_it_is_fresh(self) -> None:
        held_up = replace(self.LOOKED, held_up=8)
        assert not self.said(GOOD, 10.0, self.LOOKED)
        assert not self.said(GOOD, 99.0, self.LOOKED)
        assert not self.said(self.MOVED, 10.0, self.LOOKED)
        assert not self.said(self.MOVED, 14.0, held_up)
        assert not self.said(self.MOVED, 99.0, self.LOOKED, Takedown(frozenset({"m-0"}), frozenset({"m-1"})))

    def test_it_is_of_before(self) -> None:
        both = self.said(GOOD, 10.0, replace(self.LOOKED, changed=8))
        assert [each.partition(" was before")[0][-6:] for each in both] == ["copies", "t pods"]
        assert "members and copies have changed" in one(self.said(self.MOVED, 10.5, self.LOOKED))
        assert "pods have changed" in one(self.said(with_pod(GOOD, "m-1", going=True), 10.5, self.LOOKED))
        assert self.said(self.MOVED, 16.0, replace(self.LOOKED, held_up=8))
        assert self.said(with_member(GOOD, "m-1", process="another"), 10.5, self.LOOKED)


class TestLock:
    ASKED = Held(lock=LockLook(7, 10.0, "run"), acted=6, run="run")

    def said(self, holder: str, at: float, held: Held) -> list[str]:
        return [*under_lock(holder, at, held, 5.0)]

    def test_it_is_held(self) -> None:
        assert not self.said("run", 12.0, self.ASKED)
        assert not self.said("other", 10.0, self.ASKED)
        assert not self.said("other", 12.0, replace(self.ASKED, held_up=8))
        assert not [*under_lock("run", 10.0, replace(self.ASKED, acted=8), 5.0, repeated=True)]

    def test_it_is_not(self) -> None:
        assert "was not read" in one(self.said("run", 10.0, replace(self.ASKED, acted=8)))
        assert "named other" in one(self.said("run", 10.0, replace(self.ASKED, lock=LockLook(7, 10.0, "other"))))
        assert "no run is at work" in one(self.said("run", 10.0, replace(self.ASKED, run="")))
        assert "while the lock names other" in one(self.said("other", 12.0, self.ASKED))


class TestRequests:
    POD = "/api/v1/namespaces/n/pods/m-0"

    @pytest.mark.parametrize(
        ("method", "path", "query", "is_act"),
        [
            ("DELETE", POD, {}, True),
            ("PUT", "/_cluster/settings", {}, True),
            ("POST", "/orders/_flush", {}, True),
            ("GET", "/_cluster/settings", {}, False),
            ("POST", "/api/v1/namespaces/n/pods", {"dryRun": "All"}, False),
            ("DELETE", "/api/v1/namespaces/n/pods/m-image-pull-abcde", {}, False),
            ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {}, False),
            ("PATCH", "/apis/coordination.k8s.io/v1/namespaces/n/leases/l", {}, False),
            ("POST", "/api/v1/namespaces/n/events", {}, False),
            ("POST", "/_cluster/allocation/explain", {}, False),
        ],
    )
    def test_acts(self, method: str, path: str, query: dict[str, str], *, is_act: bool) -> None:
        assert acts.is_act(Request(method, path, query)) is is_act

    def test_looks(self) -> None:
        state = "/_cluster/state/metadata,routing_table,nodes"
        assert acts.is_look_at_cluster(Request("GET", state))
        assert not acts.is_look_at_cluster(Request("GET", "/_cluster/state/nodes"))
        assert acts.is_look_at_pods(Request("GET", "/api/v1/namespaces/n/pods"), "n")
        assert not acts.is_look_at_pods(Request("GET", "/api/v1/namespaces/other/pods"), "n")
        assert acts.is_look_at_lock(Request("GET", "/apis/coordination.k8s.io/v1/namespaces/n/leases/l"))

    def test_a_pod_that_goes_is_taken_down(self) -> None:
        assert acts.taken_down(GOOD, with_pod(GOOD, "m-0", going=True)) == {"m-0"}
        assert acts.taken_down(GOOD, with_pod(GOOD, "m-0", uid="another")) == {"m-0"}
        assert not acts.taken_down(GOOD, GOOD)

    @pytest.mark.parametrize(
        ("before", "after", "taken"),
        [
            (3, 2, {"m-2"}),
            (3, 3, set()),
            (2, 0, {"m-0", "m-1"}),
        ],
    )
    def test_a_partition_that_is_lowered_takes_down(self, before: int, after: int, taken: set[str]) -> None:
        was, now = (
            with_pool(GOOD, strategy={**ROLLING, "rollingUpdate": {"partition": each}}) for each in (before, after)
        )
        assert acts.taken_down(was, now) == taken

    def test_a_new_template_is_rolled_by_its_controller(self) -> None:
        was = with_pool(GOOD, strategy=ROLLING, revision="old")
        now = with_pool(was, spec={"template": "another"}, revision="")
        assert acts.taken_down(was, now) == {*ALL}
        assert not acts.taken_down(with_pool(was, strategy=ON_DELETE), with_pool(now, strategy=ON_DELETE))


@pytest.mark.parametrize(
    ("snapshots", "found"),
    [
        ({("backup", "upgrade-3.8.0-20261128"): "SUCCESS"}, 0),
        ({("backup", "upgrade-3.8.0-20261128"): "STARTED"}, 1),
        ({("backup", "upgrade-2.19.6-20261128"): "SUCCESS"}, 1),
        ({}, 1),
    ],
)
def test_a_member_goes_down_after_a_whole_snapshot(snapshots: dict[tuple[str, str], str], found: int) -> None:
    assert len([*rules.saved(Sight(snapshots=snapshots), "3.8.0")]) == found
