"""Members that someone has excluded from allocation: whether the copies that stay there could come back."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.excluded import (
    as_put_back,
    judge_excluded,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import (
    ENABLE,
    EXCLUDE,
    EXCLUDING,
    UNDO,
    Settings,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Change, Undo, Writer
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    cluster,
    copy,
    identity,
    info,
)

COPIES = [copy("logs", "a", primary=True), copy("logs", "b"), copy("alone", "c", primary=True)]
SERVERS = {
    "a": {**info("a"), "ip": "10.0.0.7", "attributes": {"zone": "east"}},
    "b": {**info("b"), "ip": "10.0.1.8", "attributes": {"zone": "west"}},
    "c": {**info("c"), "ip": "10.0.1.9"},
}


@pytest.mark.parametrize(
    ("attribute", "value", "named"),
    [
        ("_name", "b", "b"),
        ("_name", ["a", "b"], "a, b"),
        ("_name", "x, b ,y", "b"),
        ("_name", "*", "a, b"),
        ("_id", identity("a"), "a"),
        ("_ip", "10.0.1.*", "b"),
        ("zone", "we*", "b"),
        # A single copy comes back in the end; others are not meant, or are of an attribute that is not known here.
        ("_name", "c", ""),
        ("_name", "", ""),
        ("_name", "bb,x", ""),
        ("_name", "B", ""),
        ("zone", "north", ""),
        ("_host", "*", ""),
        ("rack", "*", ""),
    ],
)
def test_a_member_whose_copies_could_not_come_back_is_named(attribute: str, value: Any, named: str) -> None:
    settings = Settings({}, {f"{EXCLUDING}{attribute}": value})
    reasons = judge_excluded(cluster(SERVERS, COPIES), settings, "abc").reasons
    assert [each.state for each in reasons] == [State.REFUSED] * bool(named)
    assert all(f"nothing is allocated to {named}, where copies of logs[0]" in each.message for each in reasons)


def test_a_member_that_stays_up_does_not_count() -> None:
    settings = Settings({EXCLUDE: "a"}, {})
    state = cluster(SERVERS, COPIES)
    assert [judge_excluded(state, settings, going).passed for going in ("a", "bc", "")] == [False, True, True]


def test_a_drain_that_goes_on_is_waited_for() -> None:
    copies = [*COPIES, copy("k", "a", "RELOCATING", primary=True, to="c")]
    (reason,) = judge_excluded(cluster(SERVERS, copies), Settings({EXCLUDE: "a"}, {}), "abc").reasons
    assert reason.state is State.WAITING


def test_of_several_exclusions_of_elasticsearch_it_is_not_known_which_one_is_in_force() -> None:
    settings = Settings({EXCLUDE: "a", f"{EXCLUDING}zone": "west"}, {})
    elastic = {name: {**info(name, "8.19.4"), "build_flavor": "default"} for name in "abc"}
    assert judge_excluded(cluster(elastic, COPIES), settings, "abc").passed
    assert len(judge_excluded(cluster(SERVERS, COPIES), settings, "abc").reasons) == 2


def test_the_exclusions_of_an_interrupted_run_are_put_back_before() -> None:
    changes = (
        Change(("persistent", EXCLUDE), "x", "x,a"),
        Change(("persistent", ENABLE), None, "primaries"),
    )
    undo = Undo(Writer("night", "2026-11-21T00:00:00Z"), changes, {"cluster": "uuid"}).text()
    left = Settings({UNDO: undo, EXCLUDE: "x,a,b", ENABLE: "primaries"}, {"other": "1"})
    assert as_put_back(left) == Settings({UNDO: undo, EXCLUDE: "x,b"}, {"other": "1"})
