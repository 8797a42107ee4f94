"""The page of the settings is what the rules say."""

from __future__ import annotations

from tests.pages.settings import PAGE, page


def test_the_page_is_what_the_rules_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make pages"


def test_the_page_names_the_settings_that_cannot_be_mixed() -> None:
    assert "| `cluster.name` | `coordinated` |" in page()
    assert "| `cluster.routing.allocation.enable` |" not in page()
