"""The values of Longhorn's settings, as longhorn-manager reads them (`types/setting.go` of 1.12). Pure."""

from __future__ import annotations

import json

from ..observe.state import V2, Longhorn

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
"""The words that Go reads as a truth value (`strconv.ParseBool`)."""


def of_v2(seen: Longhorn, setting: str) -> str:
    """The value of a setting for the v2 data engine, whether it is given for all or by data engine; empty without."""
    value = seen.settings.get(setting, "").strip()
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return str(found.get(V2, "")).strip() if isinstance(found, dict) else value


def truth(value: str) -> bool | None:
    """The truth value; None if it is none."""
    return True if value in _TRUE else False if value in _FALSE else None


def is_zero(value: str) -> bool:
    """Whether a number is 0."""
    return value.isdecimal() and int(value) == 0
