"""The hops of an upgrade over several versions: how they are given, which one is due, and what later ones need."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import (
    State,
    Verdict,
    refused,
    remark,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.hops import (
    VersionHop,
    hop_due,
    hops_in,
    is_between,
    judge_hops,
    judge_left_below,
    of_later_hops,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version

FIRST, SECOND, LAST = (Version.parse(each) for each in ("1.3.20", "2.19.6", "3.8.0"))
CHAIN = (VersionHop(SECOND), VersionHop(LAST))


@pytest.mark.parametrize(
    "given",
    [
        "2.19.6",
        " 2.19.6 ,",
        ["2.19.6"],
        [{"version": "2.19.6"}],
    ],
)
def test_hops_may_be_a_text_or_a_list(given: Any) -> None:
    assert hops_in(given, LAST, None) == CHAIN


@pytest.mark.parametrize("given", [None, "", []])
def test_without_hops_the_target_is_the_only_one(given: Any) -> None:
    assert hops_in(given, LAST, "registry.test/opensearch:3.8.0") == (
        VersionHop(LAST, "registry.test/opensearch:3.8.0"),
    )


@pytest.mark.parametrize(
    ("given", "image", "code"),
    [
        (2.19, None, "hops_unclear"),
        ([2.19], None, "hops_unclear"),
        ([{"image": "x"}], None, "hops_unclear"),
        ([{"version": "2.19.6", "picture": "x"}], None, "hops_unclear"),
        ("2.19", None, "version_unreadable"),
        ("2.19.6", "registry.test/opensearch:3.8.0", "hop_without_image"),
    ],
)
def test_what_is_no_chain_is_refused(given: Any, image: Any, code: str) -> None:
    with pytest.raises(Refusal) as caught:
        hops_in(given, LAST, image)
    assert [reason.code for reason in caught.value.verdict.reasons] == [code]


@pytest.mark.parametrize(
    ("versions", "codes"),
    [
        (("2.19.6", "3.8.0"), []),
        (("7.17.29", "8.19.4", "9.1.0"), []),
        (("2.17.0", "3.8.0"), ["wire_incompatible"]),
        (("1.3.20", "3.8.0"), ["majors_skipped"]),
        (("3.8.0", "2.19.6"), ["hops_out_of_order"]),
        (("3.8.0", "3.8.0"), ["hops_out_of_order"]),
        (("8.18.8", "9.1.0"), ["wire_incompatible"]),
        (("7.17.29", "3.8.0"), ["elasticsearch"]),
    ],
)
def test_each_step_of_the_chain_is_one_that_the_servers_go(versions: tuple[str, ...], codes: list[str]) -> None:
    hops = [VersionHop(Version.parse(each)) for each in versions]
    assert [reason.code for reason in judge_hops(hops).reasons][: len(codes) or None] == codes


@pytest.mark.parametrize(
    ("there", "due", "between"),
    [
        ([FIRST], 0, False),
        ([FIRST, SECOND], 0, False),
        ([SECOND], 1, True),
        ([SECOND, LAST], 1, False),
        ([LAST], 1, False),
    ],
)
def test_the_hop_that_is_due_follows_from_the_members(there: list[Version], due: int, *, between: bool) -> None:
    assert hop_due(CHAIN, there) == due
    assert is_between(CHAIN, due, there) is between


def test_members_that_are_left_behind_keep_the_next_hop_from_beginning() -> None:
    assert [reason.code for reason in judge_left_below(["data-0"], *CHAIN).reasons] == ["hop_leaves_members"]
    assert judge_left_below([], *CHAIN).passed
    assert judge_left_below(["data-0"], CHAIN[-1], None).passed


OLD = refused("index_too_old", "Indices are too old.", "Reindex.")
SETTING = refused("setting_removed", "A member has a setting.", "Take it out.")


@pytest.mark.parametrize(
    ("reason", "present", "state"),
    [
        # Members of 2.x can reindex for 3.x, and those of 1.x cannot.
        (OLD, SECOND, State.REFUSED),
        (OLD, FIRST, State.PASSED),
        (SETTING, FIRST, State.PASSED),
        (refused("index_setting_removed", "An index has a setting.", "Set it to null."), FIRST, State.REFUSED),
        (remark("setting_deprecated", "A setting is deprecated."), FIRST, State.PASSED),
    ],
)
def test_what_can_be_done_now_blocks_at_once_and_all_else_is_named(reason: Any, present: Version, state: State) -> None:
    found = of_later_hops([(Verdict((reason,)), LAST)], present)
    assert [(each.code, each.state) for each in found.reasons] == [(reason.code, state)]
    assert str(LAST) in found.reasons[0].message
