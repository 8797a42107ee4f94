"""Versions of the servers: the ids that indices carry, and which versions get along.

A version from 6 to 9 is one of Elasticsearch, and the members that run it answer as members of Elasticsearch do."""

from __future__ import annotations

from typing import NamedTuple

_MASK = 0x08000000
"""Set in the ids of OpenSearch (server source, Version.java)."""
_RELEASE = 99
"""The last two digits of the id of a release."""
_INDEX_VERSIONS = {(8, 18): 8525000, (8, 19): 8536000}
"""The ids that Elasticsearch counts by itself from 8.11 on, where they were seen; others are made up in their order."""


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
    def elastic(self) -> bool:
        """Whether it is a version of Elasticsearch."""
        return self.major in range(6, 10)

    def knows(self, since: Version) -> bool:
        """Whether it has what OpenSearch has from a version on."""
        return not self.elastic and self >= since

    @property
    def id(self) -> int:
        """The number that indices carry as `index.version.created`."""
        if self.elastic and self >= (8, 11, 0):
            made_up = (8_500_000 if self.major == 8 else self.major * 1_000_000) + self.minor * 1_400 + self.patch
            return _INDEX_VERSIONS.get((self.major, self.minor), made_up)
        if self.elastic:
            return self.major * 1_000_000 + self.minor * 10_000 + self.patch * 100 + _RELEASE
        return (self.major * 1_000_000 + self.minor * 10_000 + self.patch * 100 + _RELEASE) ^ _MASK

    @property
    def lowest_in_cluster(self) -> Version:
        """The oldest version that a member of this one talks to: Elasticsearch 7.10 counts as 1.0 minus a little."""
        if self.elastic:
            own = {7: Version(6, 8, 0), 8: Version(7, 17, 0)}
            return own.get(self.major, Version(8, 18, 0) if self.minor == 0 else Version(8, 19, 0))
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
