"""Attempts that look again after a conflict."""

from __future__ import annotations

from ansible_collections.stateful.upgrade.plugins.module_utils.common.attempts import just_looked


def test_what_was_just_seen_is_not_looked_at_again() -> None:
    look = just_looked("seen", lambda: "looked")
    assert [look(), look(), look()] == ["seen", "looked", "looked"]


def test_nothing_was_seen() -> None:
    look = just_looked(None, lambda: "looked")
    assert [look(), look()] == ["looked", "looked"]
