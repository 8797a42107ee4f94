# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a configuration Secret: pairs, checksums, what is kept for putting back, and what nobody uses."""

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
    Placed,
    Upkeep,
    checksum,
    judge_secret,
    judge_writing,
    keys_due,
    pair,
    upkeep,
    with_contents,
    without_previous,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.observe.state import ConfigurationSecret
from hypothesis import given
from hypothesis import strategies as st

NOW = datetime(2026, 11, 23, 3, 0, tzinfo=timezone.utc)
MEMBERS = st.builds(
    lambda pool, number: Placed(f"{pool}-{number}", pool), st.sampled_from(["data", "hot"]), st.integers(0, 12)
)
GROUPS = st.lists(MEMBERS, max_size=8, unique=True)
CONTENTS = st.dictionaries(st.sampled_from(["a-0", "a-1", "a-2"]), st.sampled_from([b"", b"x: 1", b"x: 2", b"x: 3"]))


def secret(data: Mapping[str, bytes] | None = None, pool: str = "data") -> ConfigurationSecret:
    return ConfigurationSecret("search", "data-configuration", "uid", "7", pool, False, "", dict(data or {}))


def written(before: ConfigurationSecret, made: Data) -> ConfigurationSecret:
    after = {**before.data, **made}
    return replace(before, data={key: content for key, content in after.items() if content is not None})


def members(*names: str) -> list[Placed]:
    return [Placed(name, name.rpartition("-")[0]) for name in names]


def test_members_of_the_same_name_come_first_and_then_those_of_the_same_pool_in_their_order() -> None:
    found = pair(members("data-9", "data-10", "data-1", "hot-0"), members("data-1", "data-11", "data-12", "cold-0"))
    assert found.reused == (("data-1", "data-1"), ("data-9", "data-11"), ("data-10", "data-12"))
    assert (found.created, found.removed) == (("cold-0",), ("hot-0",))


@given(GROUPS, GROUPS, st.randoms(use_true_random=False))
def test_pairs_depend_on_no_order_and_leave_no_two_that_could_be_one(
    existing: list[Placed], wanted: list[Placed], shuffling: object
) -> None:
    found = pair(existing, wanted)
    mixed = [list(existing), list(wanted)]
    for each in mixed:
        shuffling.shuffle(each)  # type: ignore[attr-defined]
    assert pair(*mixed) == found
    pool = {each.name: each.pool for each in (*existing, *wanted)}
    old, new = [before for before, _after in found.reused], [after for _before, after in found.reused]
    assert sorted([*old, *found.removed]) == sorted(each.name for each in existing)
    assert sorted([*new, *found.created]) == sorted(each.name for each in wanted)
    assert all(pool[before] == pool[after] for before, after in found.reused)
    assert not {pool[name] for name in found.created} & {pool[name] for name in found.removed}
    both = {each.name for each in existing} & {each.name for each in wanted}
    assert {(name, name) for name in both} <= set(found.reused)
    again = [Placed(name, pool[name]) for name in (*new, *found.created)]
    assert pair(again, wanted).reused == tuple((each, each) for each in sorted(new + list(found.created), key=_ordinal))


def _ordinal(name: str) -> tuple[str, int]:
    return name.rpartition("-")[0], int(name.rpartition("-")[2])


def test_the_checksum_is_of_exactly_the_bytes() -> None:
    assert checksum(b"a: 1\n") == hashlib.sha256(b"a: 1\n").hexdigest() != checksum(b"a: 1")


def test_a_key_goes_only_after_its_pod() -> None:
    found = keys_due({"a-0": b"1", "a-1": b"1", "a-10": b"1", "a-2": b"1"}, {"a-0": b"2", "a-3": b"1"}, {"a-0", "a-2"})
    assert (found.created, found.updated) == (("a-3",), ("a-0",))
    assert (found.removed, found.kept) == (("a-1", "a-10"), ("a-2",))
    assert keys_due({"a-0": b"1"}, {"a-0": b"1"}, set()) == type(found)()


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
