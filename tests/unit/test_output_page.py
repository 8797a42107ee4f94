"""The page of the output is what the code prints, and stays short."""

from __future__ import annotations

from tests.pages.output import PAGE, page, thousand, three


def test_the_page_is_what_the_code_prints() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make pages"


def test_three_members_are_told_in_about_twenty_lines() -> None:
    plan, progress, end = three()
    assert len([*plan, *progress, *end]) <= 20
    assert len(progress) <= 3 * 3


def test_a_thousand_members_take_at_most_three_lines_each_and_their_plan_is_short() -> None:
    plan, progress, end = thousand()
    assert len(plan) <= 12
    assert len(progress) <= 3 * 1000
    assert len(end) == 1
