"""The changed settings between contents of configurations, for results, journals and diff mode. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from ...common.errors import Refusal
from ...common.words import enumerate_few
from .configuration_file import settings_in
from .setting_rules import SettingEffect
from .settings_table import SettingChanges, changes_between


def changes_of(
    before: bytes,
    after: bytes,
    member: str,
    given: Mapping[str, SettingEffect] | None = None,
    elsewhere: Mapping[str, str] | None = None,
) -> SettingChanges:
    """The changes of settings between two contents. `given` and `elsewhere` are those of `changes_between`.

    Raises:
        Refusal: the servers would not start with one of them.
    """
    return changes_between(_settings(before, member), _settings(after, member), given, elsewhere)


def names_of(before: bytes, after: bytes, member: str) -> list[str]:
    """The names of the settings that differ; none if one of the contents cannot be read."""
    try:
        return list(changes_of(before, after, member).named())
    except Refusal:
        return []


def settings_diff(
    changes: Mapping[str, Mapping[str, SettingChanges]],
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """The data for diff mode before and after: the settings of each pool that differ, from those of each member.

    Members with the same changes are one entry. Values that may be secrets are hidden.
    """
    before: dict[str, dict[str, str]] = {}
    after: dict[str, dict[str, str]] = {}
    for pool, members in sorted(changes.items()):
        groups: dict[SettingChanges, list[str]] = {}
        for name, each in sorted(members.items()):
            if each.changes:
                groups.setdefault(each, []).append(name)
        for each, names in groups.items():
            whose = f"pool {pool}" if len(names) == len(members) else enumerate_few(names)
            before[f"settings of {whose}"], after[f"settings of {whose}"] = each.shown()
    return before, after


def _settings(content: bytes, member: str) -> dict[str, str]:
    # A byte that is no UTF-8 becomes a character that no YAML has, which is refused without its value.
    return settings_in(content.decode("utf-8", "surrogateescape"), f"member {member}")
