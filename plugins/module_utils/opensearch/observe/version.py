# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of the servers, as members report them and as indices carry them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_MASK = 0x08000000
"""The bit that is set in the version ids of OpenSearch, and not in those of Elasticsearch (source, Version.java)."""

_ELASTICSEARCH = range(6, 10)
"""The majors that members of Elasticsearch run; those of OpenSearch are far below."""


@dataclass(frozen=True, order=True)
class Version:
    """A released version. Versions compare in the order of releases."""

    major: int
    minor: int
    patch: int
    elasticsearch: int = field(default=0, compare=False)
    """The major version by Elasticsearch's own count, while `major` is the one OpenSearch compares it as; else 0."""

    def __str__(self) -> str:
        if self.elasticsearch:
            return f"Elasticsearch {self.elasticsearch}.{self.minor}.{self.patch}"
        return f"{self.major}.{self.minor}.{self.patch}"

    @classmethod
    def parse(cls, text: str) -> Version:
        """The version in `text`, such as `2.19.6` or `3.0.0-beta1`; raises ValueError for anything else.

        The part after a dash is left out, since members never report it (elastic/elasticsearch#36859, from which
        OpenSearch has this).
        """
        found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(?:-[0-9A-Za-z.-]+)?", text.strip())
        if not found:
            raise ValueError(f"{text!r} is not a version: it must have the form 3.8.0")
        return cls._of(int(found[1]), int(found[2]), int(found[3]), elastic=int(found[1]) in _ELASTICSEARCH)

    @classmethod
    def from_id(cls, number: int) -> Version:
        """The version behind the id that indices carry as `index.version.created`.

        Elasticsearch 6 and 7 count as 0 and 1, as the server itself compares them (Version.java, `compareMajor`).
        """
        elastic = not number & _MASK
        plain = number if elastic else number ^ _MASK
        major, minor, patch = plain // 1_000_000, plain // 10_000 % 100, plain // 100 % 100
        return cls._of(major, minor, patch, elastic=elastic)

    @classmethod
    def _of(cls, major: int, minor: int, patch: int, *, elastic: bool) -> Version:
        return cls(major - 6, minor, patch, elasticsearch=major) if elastic else cls(major, minor, patch)
