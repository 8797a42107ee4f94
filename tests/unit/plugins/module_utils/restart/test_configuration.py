"""The keys of a configuration Secret: checksums, what is kept for putting back, and what no one uses."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.configuration import (
    ABANDONED,
    MOST_BYTES,
    Data,
    Upkeep,
    checksum,
    judge_secret,
    judge_writing,
    keys_to_remove,
    upkeep,
    with_contents,
    without_previous,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.phases import UNSURE, Marked, RestartPhase
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.wanted import is_due
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.observe.state import ConfigurationSecret
from hypothesis import given
from hypothesis import strategies as st

WANTED, OTHER = b"x: 1", b"x: 2"
NOW = datetime(2026, 11, 23, 3, 0, tzinfo=timezone.utc)
CONTENTS = st.dictionaries(st.sampled_from(["a-0", "a-1", "a-2"]), st.sampled_from([b"", b"x: 1", b"x: 2", b"x: 3"]))


def secret(data: Mapping[str, bytes] | None = None, pool: str = "data") -> ConfigurationSecret:
    return ConfigurationSecret("search", "data-configuration", "uid", "7", pool, False, "", dict(data or {}))


def written(before: ConfigurationSecret, made: Data) -> ConfigurationSecret:
    after = {**before.data, **made}
    return replace(before, data={key: content for key, content in after.items() if content is not None})


def test_the_checksum_is_of_exactly_the_bytes() -> None:
    assert checksum(b"a: 1\n") == hashlib.sha256(b"a: 1\n").hexdigest() != checksum(b"a: 1")


def test_a_key_goes_only_after_its_pod() -> None:
    found = keys_to_remove({"a-0", "a-1", "a-10", "a-2"}, {"a-0", "a-3"}, {"a-0", "a-2"})
    assert found == ("a-1", "a-10")
    assert keys_to_remove({"a-0"}, {"a-0"}, ()) == ()


def test_the_first_content_that_was_replaced_is_kept_until_the_run_is_complete() -> None:
    first = written(
        secret({"a-0": b"1", "a-1": b"1"}), with_contents(secret({"a-0": b"1", "a-1": b"1"}), {"a-0": b"2"})
    )
    assert (first.contents, first.previous) == ({"a-0": b"2", "a-1": b"1"}, {"a-0": b"1"})
    assert with_contents(first, {"a-0": b"2"}) == {}
    second = written(first, with_contents(first, {"a-0": b"3"}))
    assert second.previous == {"a-0": b"1"}
    assert written(second, with_contents(second, {"a-0": b"1"})).data == {"a-0": b"1", "a-1": b"1"}
    assert written(second, without_previous(second, {"a-0"})).data == {"a-0": b"3", "a-1": b"1"}
    assert written(second, without_previous(second, {"a-1"})) == second


@given(CONTENTS, st.lists(CONTENTS, max_size=4))
def test_whatever_is_written_is_there_and_all_is_put_back_as_it_was(
    before: dict[str, bytes], runs: list[dict[str, bytes]]
) -> None:
    present = secret(before)
    for wanted in runs:
        present = written(present, with_contents(present, wanted))
        assert wanted.items() <= present.contents.items()
        assert with_contents(present, wanted) == {}
    back = written(present, with_contents(present, present.previous))
    assert before.items() <= back.contents.items()
    assert back.previous == {}
    done = written(present, without_previous(present, set(present.contents)))
    assert (done.contents, done.previous) == (present.contents, {})


def test_an_absent_secret_or_key_is_waited_for() -> None:
    absent = judge_secret("data-configuration", None, ["a-0"])
    assert [(each.state.value, each.code) for each in absent.reasons] == [("waiting", "configuration_missing")]
    partly = judge_secret("data-configuration", secret({"a-0": b""}), ["a-0", "a-1"])
    assert partly.reasons[0].message == "The Secret data-configuration has no configuration for a-1."
    assert judge_secret("data-configuration", secret({"a-0": b""}), ["a-0"]).passed


@pytest.mark.parametrize(
    ("present", "code"),
    [
        (secret(pool=""), "configuration_of_another"),
        (secret(pool="hot"), "configuration_of_another"),
        (replace(secret(), immutable=True), "configuration_immutable"),
        (secret({"a-1": b"x" * (MOST_BYTES - 3)}), "configuration_too_large"),
    ],
)
def test_a_secret_that_cannot_be_written_is_refused_before(present: ConfigurationSecret, code: str) -> None:
    verdict = judge_writing("data-configuration", present, "data", {"a-0": b"1234"})
    assert [(each.state.value, each.code) for each in verdict.reasons] == [("refused", code)]
    assert "1234" not in str(verdict)


def test_a_secret_of_ours_or_none_is_written() -> None:
    assert judge_writing("data-configuration", secret({"a-0": b"x" * MOST_BYTES}), "data", {"a-0": b"1"}).passed
    assert judge_writing("data-configuration", None, "data", {"a-0": b"1"}).passed


@pytest.mark.parametrize(
    ("since", "used", "step"),
    [
        ("", True, Upkeep.LEAVE),
        ("", False, Upkeep.MARK),
        (0.0, True, Upkeep.UNMARK),
        (0.0, False, Upkeep.LEAVE),
        (ABANDONED - 1, False, Upkeep.LEAVE),
        (ABANDONED, False, Upkeep.COLLECT),
        (ABANDONED, True, Upkeep.UNMARK),
        (-60.0, False, Upkeep.MARK),
        ("yesterday", False, Upkeep.MARK),
        ("2026-11-01T00:00:00", False, Upkeep.MARK),
    ],
)
def test_a_secret_that_no_pod_uses_is_marked_and_goes_after_a_quarter_of_an_hour(
    since: str | float, used: bool, step: Upkeep
) -> None:
    text = since if isinstance(since, str) else (NOW - timedelta(seconds=since)).isoformat().replace("+00:00", "Z")
    ours = replace(secret(), unused_since=text)
    assert [each.step for each in upkeep([ours], {ours.name} if used else set(), NOW)] == [step]


def test_a_secret_without_our_label_is_never_touched() -> None:
    foreign = replace(secret(pool=""), unused_since="2026-11-01T00:00:00Z")
    assert [each.step for each in upkeep([foreign], set(), NOW)] == [Upkeep.LEAVE]


def test_contents_are_in_no_text() -> None:
    present = written(secret({"a-0": b"hunter2"}), with_contents(secret({"a-0": b"hunter2"}), {"a-0": b"hunter3"}))
    assert "hunter" not in repr(present)
    assert "hunter" not in repr(upkeep([present], set(), NOW))


@pytest.mark.parametrize(
    ("runs", "present", "due"),
    [
        ("", WANTED, False),
        ("", OTHER, True),
        ("", None, True),
        (checksum(WANTED), WANTED, False),
        (checksum(WANTED), None, False),
        (checksum(OTHER), WANTED, True),
        # Someone has changed the key since, and the next start would read that.
        (checksum(WANTED), OTHER, True),
        (UNSURE, WANTED, True),
    ],
)
def test_a_member_is_due_unless_it_runs_what_is_wanted_and_would_start_on_it(
    runs: str, present: bytes | None, due: bool
) -> None:
    mark = Marked("data-0", "uid", configured=runs)
    assert is_due(mark, present, WANTED) is due
    assert not is_due(mark, present, None)


def test_a_member_is_due_whose_restart_was_taken_back_after_its_content_was_chosen() -> None:
    chosen = Marked("data-0", "uid", chosen=checksum(WANTED))
    assert is_due(chosen, WANTED, WANTED)
    assert not is_due(replace(chosen, phase=RestartPhase.STOP), WANTED, WANTED)
