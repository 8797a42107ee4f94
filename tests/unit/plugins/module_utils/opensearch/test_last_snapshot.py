"""The last successful snapshot: how it is found in few requests, and the verdict on its age and content."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable, refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.last_snapshot import (
    age_of,
    seconds_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe import finding_snapshot
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.finding_snapshot import (
    observe_last_snapshot,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.last_snapshot import (
    AT_ONCE,
    LONGEST,
    LastSnapshot,
    Saved,
    chunks,
    likely_youngest,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.gate_case import case

NOW, HOUR = 1_800_000_000, 3600
Json = dict[str, Any]


class Repositories:
    """Stands for a client. Snapshots have names, states, and hours since their end."""

    def __init__(self, **of: Any) -> None:
        self.of = of
        self.asked: list[str] = []

    def get(self, path: str, **params: Any) -> Json:
        self.asked.append(path)
        if path == "/_snapshot":
            if "denied" in self.of:
                raise refusal("opensearch_rights", "OpenSearch does not allow GET /_snapshot.", "Give it.")
            return {name: {"type": "fs"} for name in self.of}
        assert len(path) < 4000
        _empty, _snapshot, repository, names = map(unquote, path.split("/"))
        found = self.of[repository]
        if isinstance(found, Refusal):
            raise found
        if names == "_all":
            assert params["verbose"] == "false"
            return {"snapshots": [{"snapshot": name, "state": state} for name, (state, _age) in found.items()]}
        if params["filter_path"] == "snapshots.indices":
            return {"snapshots": [{"indices": ["i", "j"]}]}
        return {
            "snapshots": [
                {"snapshot": name, "state": found[name][0], "end_time_in_millis": (NOW - found[name][1] * HOUR) * 1000}
                for name in names.split(",")
            ]
        }


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding_snapshot, "now_seconds", lambda: NOW)


def seen(repositories: Repositories, enough: float | None = None) -> Saved:
    return observe_last_snapshot(repositories, enough)  # type: ignore[arg-type]


def test_the_youngest_successful_one_of_all_repositories_counts() -> None:
    repositories = Repositories(
        a={"one": ("SUCCESS", 30), "two": ("PARTIAL", 1), "three": ("IN_PROGRESS", 0)}, b={"four": ("SUCCESS", 5)}, c={}
    )
    saved = seen(repositories)
    assert saved == Saved(("a", "b", "c"), LastSnapshot("b/four", 5 * HOUR, frozenset("ij")))
    assert repositories.asked == [
        "/_snapshot",
        "/_snapshot/a/_all",
        "/_snapshot/a/one",
        "/_snapshot/b/_all",
        "/_snapshot/b/four",
        "/_snapshot/c/_all",
        "/_snapshot/b/four",
    ]


def many(number: int, youngest: int) -> Json:
    """Snapshots whose names do not show which is the youngest."""
    return {f"snap-{each:05}": ("SUCCESS", 1 if each == youngest else 100) for each in range(number)}


def test_of_thousands_only_a_few_are_read() -> None:
    repositories = Repositories(a=many(5000, 4999))
    saved = seen(repositories)
    assert saved.last is not None
    assert (saved.last.name, saved.unread) == ("a/snap-04999", 5000 - AT_ONCE)
    assert len(repositories.asked) == 4


def test_with_an_age_all_are_read_until_one_is_young_enough() -> None:
    repositories = Repositories(a=many(200, 3))
    saved = seen(repositories, enough=24 * HOUR)
    assert saved.last is not None
    assert (saved.last.name, saved.unread) == ("a/snap-00003", 0)
    assert len(repositories.asked) == 2 + 200 / AT_ONCE + 1


def test_a_repository_that_cannot_be_read_is_told_and_others_are_read() -> None:
    broken = Unreachable.because("opensearch_unreachable", "The bucket is gone.", "")
    saved = seen(Repositories(a=broken, b={"x": ("SUCCESS", 1)}))
    assert (saved.last and saved.last.name, saved.unanswered) == ("b/x", ("The bucket is gone.",))
    assert seen(Repositories(denied={})).unanswered == ("OpenSearch does not allow GET /_snapshot.",)
    with pytest.raises(Refusal):
        seen(Repositories(denied={}), enough=1)


def test_the_names_tell_the_likely_youngest() -> None:
    assert likely_youngest(["b-2026.01.02", "a-20260103t0405", "x-9", "x-10", "c-2025-12-31", "a-20260103t0406"]) == [
        "a-20260103t0406",
        "a-20260103t0405",
        "b-2026.01.02",
        "c-2025-12-31",
        "x-10",
        "x-9",
    ]


def test_the_requests_are_no_longer_than_the_server_takes() -> None:
    long = ["x" * 255] * 50
    parts = list(chunks(long))
    assert sum(map(len, parts)) == 50
    assert all(sum(len(name) + 1 for name in each) <= LONGEST for each in parts)
    assert [len(each) for each in chunks(["a"] * 45)] == [20, 20, 5]
    assert list(chunks([])) == []


OLD = Saved(("a",), LastSnapshot("a/x", 30 * HOUR, frozenset("ij")))


@pytest.mark.parametrize(
    ("saved", "allowed", "state", "code", "words"),
    [
        (Saved(), None, State.PASSED, "no_snapshot", ("no repository",)),
        (Saved(("a",)), None, State.PASSED, "no_snapshot", ("no snapshot in a",)),
        (Saved(), HOUR, State.REFUSED, "no_snapshot", ("no repository",)),
        (Saved(("a",), unanswered=("No.",)), None, State.PASSED, "last_snapshot_unknown", ("No.",)),
        (Saved(("a",), unanswered=("No.",)), HOUR, State.REFUSED, "last_snapshot_unknown", ("No.",)),
        (OLD, None, State.PASSED, "last_snapshot", ("a/x", "30 h ago", "all 2 indices")),
        (OLD, 31 * HOUR, State.PASSED, "last_snapshot", ("a/x", "30 h ago")),
        (OLD, 24 * HOUR, State.REFUSED, "snapshot_too_old", ("a/x", "30 h ago", "allows 24 h")),
        (
            Saved(("a",), LastSnapshot("a/x", 90, frozenset("i"))),
            None,
            State.PASSED,
            "last_snapshot",
            ("90 s ago", "1 of 2 indices, not: j."),
        ),
    ],
)
def test_the_verdict_on_it(
    saved: Saved, allowed: float | None, state: State, code: str, words: tuple[str, ...]
) -> None:
    (reason,) = case(saved=saved, snapshot_age=allowed).judged("before_upgrade").reasons
    assert (reason.state, reason.code) == (state, code)
    for word in words:
        assert word in reason.message


def test_ages_are_written_with_a_unit() -> None:
    assert (age_of(None), age_of(""), age_of("24h"), age_of("90m")) == (None, None, 24 * HOUR, 1.5 * HOUR)
    with pytest.raises(Refusal, match="yesterday"):
        age_of("yesterday")


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("-1", 0), ("0ms", 0), ("90s", 90), ("1.5h", 5400), ("1D", 86400), ("500ms", 0.5)]
)
def test_times_of_the_servers(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["soon", "10", "1 hour", "h"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        age_of(text)
    assert [reason.code for reason in caught.value.verdict.reasons] == ["snapshot_age_unreadable"]
