"""Secrets in results and lines: long ones are masked everywhere, short ones where they stand alone."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.masking import PART, WHOLE, masked


@pytest.mark.parametrize(
    ("value", "secrets", "expected"),
    [
        ("members-2 goes down", {"e"}, "members-2 goes down"),
        ("user:e@host, e e.", {"e"}, f"user:{PART}@host, {PART} {PART}."),
        ("e", {"e"}, WHOLE),
        ({"e": ["e", ("see", {"deep": "e"})]}, {"e"}, {"e": [WHOLE, ["see", {"deep": WHOLE}]]}),
        ([3, 33, 3.5, True, None], {"3"}, [WHOLE, 33, 3.5, True, None]),
        ("a+b and +", {"+"}, f"a+b and {PART}"),
        ("ab abc", {"ab", "a"}, f"{PART} abc"),
        ("nothing is lost", {"", " "}, "nothing is lost"),
        ("inside hunter2s", {"hunter2"}, f"inside {PART}s"),
        ("inside four4s, e", {"four", "e"}, f"inside {PART}4s, {PART}"),
    ],
)
def test_masked(value: Any, secrets: set[str], expected: Any) -> None:
    assert masked(value, secrets) == expected
