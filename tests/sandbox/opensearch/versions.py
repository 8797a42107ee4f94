# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of the servers: the ids that indices carry, and which versions get along."""

from __future__ import annotations

from typing import NamedTuple

_MASK = 0x08000000
"""Set in the ids of OpenSearch (server source, Version.java)."""
_RELEASE = 99
"""The last two digits of the id of a release."""


class Version(NamedTuple):
    """One version; compares in the order of releases."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """From a text such as 2.19.6."""
        major, minor, patch = text.partition("-")[0].split(".")
        return cls(int(major), int(minor), int(patch))

    @property
    def id(self) -> int:
        """The number that indices carry as `index.version.created`."""
        return (self.major * 1_000_000 + self.minor * 10_000 + self.patch * 100 + _RELEASE) ^ _MASK

    @property
    def lowest_in_cluster(self) -> Version:
        """The oldest version that a member of this one talks to: Elasticsearch 7.10 counts as 1.0 minus a little."""
        return Version(2, 19, 0) if self.major >= 3 else Version(0, 0, 0) if self.major == 1 else Version(1, 0, 0)

    @property
    def lowest_index(self) -> Version:
        """The oldest version in which an index may have been made that a member of this one opens."""
        return Version(self.major - 1, 0, 0)

    @property
    def wire(self) -> str:
        """`minimum_wire_compatibility_version` of the banner."""
        return {1: "6.8.0", 2: "7.10.0"}.get(self.major, "2.19.0")

    @property
    def oldest(self) -> str:
        """`minimum_index_compatibility_version` of the banner."""
        return {1: "6.0.0-beta1", 2: "7.0.0"}.get(self.major, f"{self.major - 1}.0.0")

    @property
    def lucene(self) -> str:
        """The version of Lucene, as far as it is known."""
        known = {(2, 11): "9.7.0", (2, 19): "9.12.3", (3, 6): "10.4.0", (3, 8): "10.5.0"}
        return known.get((self.major, self.minor), f"{self.major + 7}.0.0")

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"
