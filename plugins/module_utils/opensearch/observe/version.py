"""Versions of the servers, as members report them and as indices carry them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_MASK = 0x08000000
"""The bit that is set in the version ids of OpenSearch, and not in those of Elasticsearch (source, Version.java)."""

_ELASTICSEARCH = range(6, 10)
"""The majors that are of Elasticsearch if nothing else shows it; those of OpenSearch are far below."""

_OFFSET = 6
"""Elasticsearch 7 counts as 1, since OpenSearch 1.0 was forked from 7.10 (Version.java, `compareMajor`). The counts go
on side by side, so that versions of one product compare as they should. Those of two products are compared only where
OpenSearch does so itself, up to Elasticsearch 7.10."""

_OWN_COUNT = 8_500_000
"""The first id in the count of index versions, by which Elasticsearch from 8.11 on says in what format an index was
created. It is no longer that of a release (server source, IndexVersions)."""


@dataclass(frozen=True, order=True)
class Version:
    """A released version. Versions compare in the order of releases."""

    major: int
    minor: int
    patch: int
    elasticsearch: int = field(default=0, compare=False)
    """The major version by Elasticsearch's own count, while `major` is the one OpenSearch compares it as; else 0."""

    def __str__(self) -> str:
        return f"{self.own_major}.{self.minor}.{self.patch}"

    @property
    def own_major(self) -> int:
        """The major version as its product counts it."""
        return self.elasticsearch or self.major

    @property
    def titled(self) -> str:
        """The version with the name of its server where that is Elasticsearch, for use with versions of OpenSearch."""
        return f"Elasticsearch {self}" if self.elasticsearch else str(self)

    @classmethod
    def parse(cls, text: str, *, elastic: bool = False) -> Version:
        """The version in `text`, such as `2.19.6` or `3.0.0-beta1`; raises ValueError for anything else.

        The part after a dash is left out, since members never report it (elastic/elasticsearch#36859, from which
        OpenSearch has this). `elastic` says that it is of Elasticsearch, whatever its number is.
        """
        found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(?:-[0-9A-Za-z.-]+)?", text.strip())
        if not found:
            raise ValueError(f"{text!r} is not a version: it must have the form 3.8.0")
        return cls._of(int(found[1]), int(found[2]), int(found[3]), elastic=elastic or int(found[1]) in _ELASTICSEARCH)

    @classmethod
    def from_id(cls, number: int) -> Version:
        """The version behind the id that indices carry as `index.version.created`.

        Of an index version of Elasticsearch nothing but the major version is known (`created_in`).
        """
        elastic = not number & _MASK
        plain = number if elastic else number ^ _MASK
        major, minor, patch = plain // 1_000_000, plain // 10_000 % 100, plain // 100 % 100
        if elastic and plain >= _OWN_COUNT:
            minor = patch = 0
        return cls._of(major, minor, patch, elastic=elastic)

    @classmethod
    def _of(cls, major: int, minor: int, patch: int, *, elastic: bool) -> Version:
        return cls(major - _OFFSET, minor, patch, elasticsearch=major) if elastic else cls(major, minor, patch)


def created_in(number: int, holding: Iterable[tuple[int, Version]]) -> Version:
    """The version in which an index was created, from the id that it carries.

    `holding` has the highest id that a member can hold, and its version. The oldest member that can hold an index
    version of Elasticsearch is the nearest known release to it. It never makes the index older than it is.
    """
    found = Version.from_id(number)
    able = [version for highest, version in holding if highest >= number and version.major == found.major]
    return min(able) if found.elasticsearch and number >= _OWN_COUNT and able else found
