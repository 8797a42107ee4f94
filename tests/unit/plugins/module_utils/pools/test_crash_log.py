"""The cause of a crash is found in the logs of servers that did not start.

Each file in failed_starts has the sentence that a person needs in its first line, and below it a log, shortened after
public reports (issues of OpenSearch, Elasticsearch, their charts and operators) and after the servers' own sources.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, refused, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.crash_log import (
    LONGEST,
    LOOKED_AT,
    MOST,
    cause,
    last_lines,
    last_words,
    with_cause,
)

FAILED_STARTS = {path.stem: path for path in (Path(__file__).parent / "failed_starts").glob("*.txt")}


def read(name: str) -> tuple[str, list[str]]:
    """The sentence that is needed, and the lines of the log."""
    first, _empty, *log = FAILED_STARTS[name].read_text(encoding="utf-8").splitlines()
    return first.removeprefix("needs:").strip(), log


def test_the_catalogue_is_there() -> None:
    assert len(FAILED_STARTS) > 40


@pytest.mark.parametrize("name", sorted(FAILED_STARTS))
def test_the_line_that_a_person_needs_is_found(name: str) -> None:
    needed, log = read(name)
    assert cause(log) == needed


@pytest.mark.parametrize("name", sorted(FAILED_STARTS))
def test_what_a_server_logs_before_its_failure_and_while_it_closes_hides_no_cause(name: str) -> None:
    needed, log = read(name)
    before = ["[2026-01-01T00:00:00,000][INFO ][o.o.p.PluginsService     ] [search-0] loaded module [lang-painless]"]
    after = ["[2026-12-31T00:00:00,000][INFO ][o.o.n.Node               ] [search-0] closed"]
    assert cause([*before * 20, *log, *after * 20]) == needed


@pytest.mark.parametrize("name", sorted(FAILED_STARTS))
def test_a_log_of_lines_cut_anywhere_is_read_without_an_error(name: str) -> None:
    _needed, log = read(name)
    for number in range(len(log)):
        assert len(cause(log[number:])) <= LONGEST
        assert len(cause([line[: number * 7] for line in log])) <= LONGEST
    assert len(log) < LOOKED_AT


def test_a_password_that_was_refused_is_quoted_nowhere() -> None:
    _needed, log = read("admin_password_weak")
    assert "Winter" in "".join(log)
    assert "Winter" not in str(last_words(log))


def test_frames_and_empty_lines_are_left_out() -> None:
    _needed, log = read("plugin_of_another_version")
    told = last_lines([*log, ""])
    assert not [line for line in told if line.startswith("\tat") or not line.strip()]
    assert told[-1].startswith("For complete error details")
    assert last_lines(f"line {number}" for number in range(50)) == [f"line {number}" for number in range(50 - MOST, 50)]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], ""),
        (["port is in use"], "Its log ends with: port is in use."),
        (["a: java.lang.Error: no", "", "bye"], "Its log names the cause: java.lang.Error: no."),
        (["{", "null", "[]", '{"message": 1}'], 'Its log ends with: {"message": 1}.'),
    ],
)
def test_a_log_without_a_known_cause_is_quoted_as_that(lines: list[str], said: str) -> None:
    assert last_words(lines)["cause"] == said


def test_an_exception_that_a_server_lives_with_is_no_cause() -> None:
    _needed, log = read("no_cause_in_it")
    assert last_words(log)["cause"].startswith("Its log ends with: [2026-04-24T10:52:27,301]")


def test_only_the_refusal_of_a_crash_says_it_and_each_member_its_own() -> None:
    one = refused("container_crashes", "The container search of pod m-1 ended.", "Read.")
    two = refused("container_crashes", "The container search of pod m-2, it ended.", "Read.")
    other = waiting("process_starting", "m-1 starts.")
    members = [{"name": "m-1", "cause": "Cause 1."}, {"name": "m-2", "cause": "Cause 2."}, {"name": "m-3"}]
    told = with_cause(Verdict((one, two, other)), members)
    assert [each.message for each in told.reasons] == [
        "The container search of pod m-1 ended. Cause 1.",
        "The container search of pod m-2, it ended. Cause 2.",
        "m-1 starts.",
    ]
    assert with_cause(Verdict((one,)), [{"name": "m-1", "cause": ""}]) == Verdict((one,))
