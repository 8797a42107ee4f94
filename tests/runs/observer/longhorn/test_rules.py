"""Each invariant of Longhorn finds what breaks it, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.runs.observer.longhorn import rules
from tests.runs.observer.longhorn.rules import Consents
from tests.runs.observer.longhorn.sight import MARK, Manager, Sight, Volume

OLD, NEW = "manager:1", "manager:2"
VOLUME = Volume(
    attached=True,
    workload="a",
    engines=frozenset({"a"}),
    copies=frozenset({"a", "b"}),
    places=frozenset({"a", "b"}),
    wanted=2,
)
CLOSED = ("nodes", "a", "spec.allowScheduling")
FIRST: Mapping[Any, Any] = {CLOSED: True, ("volumes", "v", "spec.engineNodeID"): None}
GOOD = Sight(
    volumes={"v": VOLUME},
    managers={node: Manager(node, OLD, f"uid of {node}", runs=True) for node in "abc"},
    image=NEW,
    values=FIRST,
)
HELD = GOOD.volumes


def with_volume(**changed: Any) -> Sight:
    """The sight with another state of its volume."""
    return replace(GOOD, volumes={"v": replace(VOLUME, **changed)})


def on(*nodes: str) -> frozenset[str]:
    """Kubernetes nodes."""
    return frozenset(nodes)


def one(said: Iterable[str]) -> str:
    """The only sentence."""
    (found,) = said
    return found


class TestActs:
    def test_a_copy_stays_elsewhere(self) -> None:
        assert not [*rules.kept_copies(GOOD, GOOD, "a")]
        last = with_volume(copies=on("a"))
        assert one(rules.kept_copies(last, last, "a")) == "node a is changed, which has the last copy of volume v"
        assert not [*rules.kept_copies(last, last, "b")]
        assert not [*rules.kept_copies(with_volume(copies=on("a"), attached=False), last, "a")]

    def test_no_recurring_job_is_at_work(self) -> None:
        works = replace(GOOD, works={"daily": frozenset({"v"})})
        said = "node a is changed, and a recurring job is at work on volume v"
        assert one(rules.without_job(works, works, "a")) == said
        assert not [*rules.without_job(works, works, "c")]
        assert not [*rules.without_job(works, GOOD, "a")]

    def test_no_recurring_job_starts_that_was_held_off(self) -> None:
        works, held = replace(GOOD, works={"daily": frozenset({"v"})}), {"a": {"daily"}}
        assert (
            one(rules.no_late_job(works, GOOD, held))
            == "recurring job daily starts on volume v while node a is changed"
        )
        assert not [*rules.no_late_job(works, works, held)]
        assert not [*rules.no_late_job(works, GOOD, {"a": {"weekly"}, "c": {"daily"}})]

    def test_the_recurring_jobs_that_are_suspended(self) -> None:
        values = {("cronjobs", "daily", "spec.suspend"): True, ("cronjobs", "weekly", "spec.suspend"): None}
        assert replace(GOOD, values={**FIRST, **values}).suspended == {"daily"}

    def test_a_copy_that_was_lost_since_the_look_is_no_fault(self) -> None:
        assert not [*rules.kept_copies(with_volume(copies=on("a")), GOOD, "a")]

    def test_no_engine_is_left(self) -> None:
        assert "the engine of volume v runs" in one(rules.without_engine(GOOD, GOOD, "a"))
        assert not [*rules.without_engine(GOOD, GOOD, "b")]
        assert not [*rules.without_engine(GOOD, with_volume(engines=on("b")), "a")]

    def test_one_node_is_in_work(self) -> None:
        assert not [*rules.alone(replace(GOOD, marks={"a": "run"}), "a", Consents())]
        assert (
            one(rules.alone(replace(GOOD, marks={"a": "run"}), "b", Consents())) == "node b is begun, and a is not done"
        )
        assert "c is not done" in one(rules.alone(replace(GOOD, upgrades={"u": on("c")}), "b", Consents()))
        assert not [*rules.alone(replace(GOOD, upgrades={"u": on("b", "c")}), "b", Consents(one_object=True))]

    def test_a_node_is_done_once(self) -> None:
        assert not [*rules.not_done(GOOD, "a")]
        done = replace(GOOD, managers={"new": Manager("a", NEW, "uid", runs=True)})
        assert "runs there already" in one(rules.not_done(done, "a"))
        assert not [*rules.not_done(replace(done, managers={"new": Manager("a", NEW, "uid")}), "a")]

    @pytest.mark.parametrize("hit", [on("v"), on("a"), on("b")])
    def test_the_volumes_of_the_node_before_are_whole(self, hit: frozenset[str]) -> None:
        ill = with_volume(copies=on("b"))
        assert not [*rules.others_whole(GOOD, GOOD, "c", on("a"), on())]
        assert "has copies on b alone" in one(rules.others_whole(ill, ill, "c", on("a"), on()))
        assert not [*rules.others_whole(ill, ill, "c", on(), on())]
        assert not [*rules.others_whole(ill, ill, "c", on("a"), hit)]
        assert not [*rules.others_whole(ill, GOOD, "c", on("a"), on())]

    def test_an_engine_goes_to_a_copy(self) -> None:
        assert not [*rules.lent(GOOD, "v", "b")]
        assert "has no copy" in one(rules.lent(GOOD, "v", "c"))
        down = replace(GOOD, managers={"old": Manager("b", OLD, "uid")})
        assert "no instance manager runs" in one(rules.lent(down, "v", "b"))


class TestMoments:
    def test_a_copy_can_be_read(self) -> None:
        none = with_volume(copies=on())
        assert not [*rules.keeps_copy(GOOD, HELD, on())]
        assert one(rules.keeps_copy(none, HELD, on())) == "volume v has no copy that can be read and written"
        assert not [*rules.keeps_copy(none, HELD, on("b"))]
        assert not [*rules.keeps_copy(with_volume(copies=on(), attached=False), HELD, on())]

    def test_a_frontend_is_there(self) -> None:
        away = with_volume(serves=False)
        assert not [*rules.serves(GOOD, HELD, on(), on())]
        assert one(rules.serves(away, HELD, on(), on())) == "volume v is not served on node a any more"
        assert not [*rules.serves(away, HELD, on("a"), on())]
        assert not [*rules.serves(away, HELD, on(), on("v"))]
        assert not [*rules.serves(away, {}, on(), on())]


class TestUndo:
    SHUT = replace(GOOD, values={**FIRST, CLOSED: False})
    OWN: Mapping[Any, Any] = {CLOSED: False}

    def named(self, was: object) -> Sight:
        """The sight with an undo of this value."""
        change = {"path": ["spec", "allowScheduling"], "was": was, "set_to": False}
        return replace(self.SHUT, undos={CLOSED[:2]: json.dumps({"changes": [change]})})

    def test_it_names_each_change(self) -> None:
        assert not [*rules.named_by_undo(FIRST, self.named(was=True), self.OWN)]
        assert "no undo names it" in one(rules.named_by_undo(FIRST, self.SHUT, self.OWN))
        assert "the undo names False" in one(rules.named_by_undo(FIRST, self.named(was=False), self.OWN))

    def test_a_change_of_others_needs_none(self) -> None:
        assert not [*rules.named_by_undo(FIRST, self.SHUT, {})]
        assert not [*rules.named_by_undo({**FIRST, CLOSED: False}, self.SHUT, self.OWN)]

    def test_an_empty_text_is_no_value(self) -> None:
        change = {"path": ["spec", "engineNodeID"], "was": "", "set_to": "b"}
        assert rules.changes_in(json.dumps({"changes": [change]})) == {"spec.engineNodeID": None}
        assert rules.changes_in("") == {}


class TestEnd:
    def test_all_is_put_back(self) -> None:
        assert not [*rules.all_put_back(FIRST, GOOD)]
        assert not [*rules.all_put_back({**FIRST, ("volumes", "gone", "spec.numberOfReplicas"): 2}, GOOD)]

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"values": {CLOSED: False}}, "was True and is False"),
            ({"notes": frozenset({("nodes", "a", MARK)})}, f"nodes/a still has the annotation {MARK}"),
            ({"upgrades": {"u": on("a")}}, "upgrades have not ended: u"),
            ({"holder": "run"}, "the lock is still held by run"),
        ],
    )
    def test_something_is_left(self, changed: Mapping[str, Any], said: str) -> None:
        assert said in one(rules.all_put_back(FIRST, replace(GOOD, **changed)))

    def test_all_nodes_are_done(self) -> None:
        assert one(rules.all_done(GOOD, ["a"], on())) == f"a does not run {NEW}"
        assert not [*rules.all_done(GOOD, ["a"], on("a"))]


def test_consents_of_variables() -> None:
    assert Consents.of({"upgrade_accept_unverified": ["instance_manager_replacement"]}).replacement
    assert not Consents.of({}).replacement
