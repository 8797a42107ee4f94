"""Versions of OpenShift and Kubernetes, in the order of semantic versions (https://semver.org, section 11). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import total_ordering
from itertools import pairwise

from .errors import refusal

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?")


@total_ordering
@dataclass(frozen=True)
class Release:
    """One version, such as 4.18.3 or 4.19.0-rc.2."""

    major: int
    minor: int
    patch: int
    before: str = ""
    """The pre-release, such as rc.2; empty for a release."""
    build: str = field(default="", compare=False)
    """The build, such as vmware.2 of 1.33.4+vmware.2; empty for none. Builds have no order (section 10)."""

    @classmethod
    def parse(cls, text: str) -> Release:
        """The version in a text. Raises ValueError if it is not a version."""
        found = _VERSION.fullmatch(text.strip())
        if not found:
            raise ValueError(f"{text!r} is not a version: it must have the form 4.18.3")
        return cls(int(found[1]), int(found[2]), int(found[3]), found[4] or "", found[5] or "")

    def __str__(self) -> str:
        before, build = f"-{self.before}" if self.before else "", f"+{self.build}" if self.build else ""
        return f"{self.major}.{self.minor}.{self.patch}{before}{build}"

    def __lt__(self, other: Release) -> bool:
        return self._key() < other._key()

    def _key(self) -> tuple[object, ...]:
        parts = [(0, int(each), "") if each.isdigit() else (1, 0, each) for each in self.before.split(".")]
        return self.major, self.minor, self.patch, not self.before, parts if self.before else []

    def minors_to(self, other: Release) -> int:
        """The number of minor versions from this one to another; 1000 if the major versions differ."""
        return other.minor - self.minor if other.major == self.major else 1000


def check_ascending(through: Sequence[Release], target: Release) -> None:
    """Check the order of the versions on the way to a target. Raises Refusal: they are not ascending."""
    wrong = next((pair for pair in pairwise([*through, target]) if not pair[0] < pair[1]), None)
    if wrong is not None:
        raise refusal(
            "chain_unordered",
            f"The versions on the way to {target} are not in ascending order: {wrong[0]} comes before {wrong[1]}.",
            "Name each once, the lowest first, and without the target (upgrade_through).",
        )


def release_in(text: str) -> Release | None:
    """The version in a text; None if it is not a version."""
    with suppress(ValueError):
        return Release.parse(text)
    return None
