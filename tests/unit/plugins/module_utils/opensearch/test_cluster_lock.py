"""The lock inside the cluster: numbered templates, of which the highest counts, since none is replaced with a guard."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Conflict, Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act.cluster_lock import (
    NAME,
    STOP,
    ClusterLock,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import OpenSearchClient
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import Lock
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import answered

OURS = Lock(
    run="night",
    who="ops@bastion",
    since="2026-11-21T02:00:00.000000Z",
    renewed="2026-11-21T02:00:00.000000Z",
    seconds=60,
    place="boot/4026531836",
    processes=("7.1", "8.2"),
    doing="shards are moving",
)
THEIRS = replace(OURS, run="day", who="dev@laptop")
LATER = "2026-11-21T02:01:00.000000Z"


@dataclass
class Templates:
    """Component templates as OpenSearch keeps them; others act between any two requests."""

    there: dict[str, dict[str, Any]] = field(default_factory=dict)
    before: list[Callable[[], Any]] = field(default_factory=list)
    """The acts of others before the next requests, one each."""
    asked: int = 0

    def get(self, path: str, **_params: Any) -> Any:
        """As with filter_path: what is empty is not in the answer."""
        self._reached()
        assert path == "/_component_template"
        found = [
            {"name": name, **({"component_template": {"_meta": meta}} if meta else {})}
            for name, meta in self.there.items()
        ]
        return json.loads(json.dumps({"component_templates": found} if found else {}))

    def put(self, path: str, body: dict[str, Any], create: str = "false") -> Any:
        """400 where it is to be made and is there."""
        self._reached()
        name = path.rpartition("/")[2]
        if create == "true" and name in self.there:
            raise answered(400, f"component template [{name}] already exists")
        assert body["template"] == {}
        self.there[name] = json.loads(json.dumps(body["_meta"]))
        return {"acknowledged": True}

    def delete(self, path: str) -> Any:
        """Nothing where there is nothing, as the client has it."""
        self._reached()
        self.there.pop(path.rpartition("/")[2], None)
        return {}

    def lock(self) -> ClusterLock:
        """The lock on these templates."""
        return ClusterLock(cast(OpenSearchClient, self))

    def _reached(self) -> None:
        self.asked += 1
        if self.before:
            self.before.pop(0)()


def numbers(templates: Templates) -> list[str]:
    return sorted(templates.there)


def taken(templates: Templates, lock: Lock, over: Lock | None) -> bool:
    """Whether one that saw `over` gets the lock."""
    try:
        templates.lock().write(lock, over)
    except Conflict:
        return False
    return True


def holder(templates: Templates) -> str | None:
    found = templates.lock().read()
    return found.run if found is not None else None


def test_what_is_written_is_read() -> None:
    templates = Templates()
    assert templates.lock().read() is None
    made = templates.lock().write(OURS, None)
    assert made == replace(OURS, version="1")
    assert templates.lock().read() == made
    renewed = templates.lock().write(replace(made, renewed=LATER, doing="", processes=()), made)
    assert templates.lock().read() == renewed
    assert numbers(templates) == [f"{NAME}-000001"]


def test_taking_over_is_making_the_next_number() -> None:
    templates = Templates()
    over = templates.lock().write(OURS, None)
    made = templates.lock().write(THEIRS, over)
    assert (made.version, holder(templates)) == ("2", "day")
    assert numbers(templates) == [f"{NAME}-000002"]


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("at", range(6))
def test_of_two_that_take_it_at_once_exactly_one_gets_it(held: bool, at: int) -> None:
    """The other is faster, at any request of the one."""
    templates = Templates()
    over = templates.lock().write(replace(OURS, run="dead"), None) if held else None
    other: list[bool] = []
    nothing: list[Callable[[], Any]] = [lambda: None] * at
    templates.before = [*nothing, lambda: other.append(taken(templates, THEIRS, over))]
    one = taken(templates, OURS, over)
    if not other:
        templates.before = []
        other.append(taken(templates, THEIRS, over))
    assert [one, *other].count(True) == 1
    assert holder(templates) == ("night" if one else "day")


def test_one_that_saw_no_lock_long_ago_does_not_win_with_a_low_number() -> None:
    templates = Templates()
    first = templates.lock().write(replace(OURS, run="dead"), None)
    templates.lock().write(THEIRS, first)
    assert not taken(templates, OURS, None)
    assert holder(templates) == "day"


@pytest.mark.parametrize("at", [0, 1])
def test_a_late_renewal_of_a_lower_number_does_not_win(at: int) -> None:
    """Another takes over between the look and the write, or between the write and the second look."""
    templates = Templates()
    held = templates.lock().write(OURS, None)
    nothing: list[Callable[[], Any]] = [lambda: None] * at
    templates.before = [*nothing, lambda: templates.lock().write(THEIRS, held)]
    with pytest.raises(Conflict):
        templates.lock().write(replace(held, renewed=LATER), held)
    assert holder(templates) == "day"


def test_what_a_late_renewal_left_goes_with_the_lock() -> None:
    templates = Templates()
    held = templates.lock().write(OURS, None)
    newer = templates.lock().write(THEIRS, held)
    assert not taken(templates, replace(held, renewed=LATER), held)
    assert len(numbers(templates)) == 2
    templates.lock().remove(newer)
    assert numbers(templates) == []


def test_a_newer_lock_stays_when_an_older_is_removed() -> None:
    templates = Templates()
    held = templates.lock().write(OURS, None)
    newer = templates.lock().write(THEIRS, held)
    templates.lock().write(replace(newer, stop="by ops@bastion"), newer)
    templates.lock().remove(held)
    assert templates.lock().read() == replace(newer, stop="by ops@bastion")


def test_a_request_to_stop_is_seen_kept_and_taken_away() -> None:
    templates = Templates()
    held = templates.lock().write(OURS, None)
    templates.lock().write(replace(held, stop="by dev@laptop"), held)
    seen = templates.lock().read()
    assert seen == replace(held, stop="by dev@laptop")
    templates.lock().write(replace(seen, renewed=LATER), seen)
    assert templates.lock().read() == replace(seen, renewed=LATER)
    templates.lock().remove(seen)
    assert numbers(templates) == []


def test_a_request_to_stop_is_not_inherited_by_the_next_run() -> None:
    templates = Templates()
    held = templates.lock().write(OURS, None)
    templates.lock().write(replace(held, stop="by dev@laptop"), held)
    newer = templates.lock().write(THEIRS, held)
    found = templates.lock().read()
    assert found is not None
    assert (found.run, found.stop) == ("day", "")
    templates.lock().remove(newer)
    assert numbers(templates) == [], "nor left behind"


def test_a_request_to_stop_a_run_that_has_ended_does_no_harm() -> None:
    templates = Templates()
    held = templates.lock().write(OURS, None)
    templates.lock().remove(held)
    templates.lock().write(replace(held, stop="by dev@laptop"), held)
    assert templates.lock().read() is None
    newer = templates.lock().write(THEIRS, None)
    assert newer.stop == ""
    templates.lock().remove(newer)
    assert numbers(templates) == []


def test_templates_of_others_are_left_alone() -> None:
    others: dict[str, dict[str, Any]] = {"logs": {}, f"{NAME}-x": {}, f"{NAME}s-000009": {"run": "x"}, NAME: {}}
    templates = Templates(dict(others))
    assert templates.lock().read() is None
    templates.lock().remove(templates.lock().write(OURS, None))
    assert templates.there == others


def test_a_template_that_says_nothing_is_a_free_lock() -> None:
    templates = Templates({f"{NAME}-000041": {}, STOP: {}})
    found = templates.lock().read()
    assert found is not None
    assert (found.run, found.seconds) == ("", 0)
    assert templates.lock().write(OURS, found).version == "42"
    assert f"{NAME}-000041" not in templates.there


@pytest.mark.parametrize(
    "meta",
    [
        {"run": 7},
        {"run": "x", "seconds": "long"},
        {"run": "x", "seconds": -1},
        {"run": "x", "processes": "7.1"},
        {"run": "x", "processes": [7]},
        {"run": "x", "since": {"a": 1}},
        [1],
        "text",
    ],
)
def test_a_forged_lock_is_refused_by_its_name_with_what_to_do(meta: Any) -> None:
    """Anyone who may write a template stopped every run with a bug."""
    for name in (f"{NAME}-000041", STOP):
        if name == STOP and isinstance(meta, dict) and meta["run"] == "x":
            meta = {"run": "x", "stop": 7}
        templates = Templates({f"{NAME}-000001": {"run": "x"}, name: meta})
        with pytest.raises(Refusal) as caught:
            templates.lock().read()
        (reason,) = caught.value.verdict.reasons
        assert reason.code == "lock_not_readable"
        assert name in reason.message
        assert f"GET /_component_template/{name}" in reason.remedy


def test_what_others_note_in_their_templates_is_not_read() -> None:
    strange: dict[str, Any] = {"theirs": [1], f"{NAME}-x": "text", f"{NAME}-000002": {"run": "x"}}
    found = Templates(strange).lock().read()
    assert found is not None
    assert found.run == "x"


def test_what_the_cluster_refuses_otherwise_is_no_conflict() -> None:
    class Full(Templates):
        def put(self, path: str, body: dict[str, Any], create: str = "false") -> Any:
            raise answered(403, "no permissions for [cluster:admin/component_template/put]")

    with pytest.raises(Refusal, match="no permissions") as caught:
        Full().lock().write(OURS, None)
    assert not isinstance(caught.value, Conflict)
