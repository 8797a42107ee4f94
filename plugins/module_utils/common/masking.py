"""The masking of secrets in results and lines.

Ansible's own `remove_values` masks a secret inside of words, however short it is. A password of one character would
make every line unreadable, and the letter that is missing everywhere would be the password. So a short secret is masked
where it stands alone: as a whole value, or as a word of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from ansible.module_utils.common.parameters import remove_values

SHORTEST = 4
"""The characters of the shortest secret that is masked inside of words."""
WHOLE = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
PART = "********"
"""The masks of `remove_values`."""


def masked(value: Any, secrets: Collection[str]) -> Any:
    """The same plain data without any of the secrets."""
    return mask_short(remove_values(value, long_ones(secrets)), secrets)


def long_ones(secrets: Collection[str]) -> frozenset[str]:
    """The secrets that are masked inside of words."""
    return frozenset(secret for secret in secrets if len(secret) >= SHORTEST)


def mask_short(value: Any, secrets: Collection[str]) -> Any:
    """The same plain data without the short ones of the secrets."""
    short = frozenset(secret for secret in secrets if secret.strip() and len(secret) < SHORTEST)
    if not short:
        return value
    words = "|".join(re.escape(secret) for secret in sorted(short, key=len, reverse=True))
    return _without(value, short, re.compile(rf"(?<!\w)(?:{words})(?!\w)"))


def _without(value: Any, secrets: frozenset[str], words: re.Pattern[str]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return WHOLE if value in secrets else words.sub(PART, value)
    if isinstance(value, (int, float)):
        return WHOLE if str(value) in secrets else value
    if isinstance(value, Mapping):
        return {name: _without(each, secrets, words) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without(each, secrets, words) for each in value]
    return value
