"""The locks: which jars and plugins make up an OpenSearch version, each with its exact coordinate and SHA-256."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.lab.errors import LabError

LOCKS = Path(__file__).parent / "locks"
REINDEX = "reindex-client"
"""The artifact of the module for reindexing."""


def major(version: str) -> int:
    """Gives the first number of a version."""
    return int(version.partition(".")[0])


@dataclass(frozen=True, order=True)
class Coordinate:
    """A Maven coordinate of one jar, or of the zip of a plugin."""

    group: str
    artifact: str
    version: str
    classifier: str = ""
    packaging: str = "jar"

    @classmethod
    def parse(cls, text: str) -> Coordinate:
        """Gives the coordinate written as ``group:artifact:version[:classifier][@packaging]``.

        Raises:
            LabError: the text has another shape.
        """
        whole, _at, packaging = text.partition("@")
        parts = whole.split(":")
        if len(parts) not in (3, 4) or not all(parts):
            raise LabError(
                f"The coordinate {text!r} is not of the form group:artifact:version[:classifier][@packaging]; "
                "make the lock again."
            )
        group, artifact, version, classifier = [*parts, ""][:4]
        return cls(group, artifact, version, classifier, packaging or "jar")

    def __str__(self) -> str:
        parts = ":".join(part for part in (self.group, self.artifact, self.version, self.classifier) if part)
        return parts if self.packaging == "jar" else f"{parts}@{self.packaging}"

    @property
    def file_name(self) -> str:
        """The published name, which OpenSearch's security policy derives its codebases from."""
        return "-".join(part for part in (self.artifact, self.version, self.classifier) if part) + f".{self.packaging}"

    @property
    def directory(self) -> Path:
        """The folder of the jar inside a Maven repository."""
        return Path(*self.group.split("."), self.artifact, self.version)


@dataclass(frozen=True)
class Lock:
    """The jars and plugins of one OpenSearch version, each with its SHA-256 in hexadecimal."""

    version: str
    artifacts: Mapping[Coordinate, str]

    @property
    def secured(self) -> bool:
        """Whether the security plugin is among them."""
        return any(one.packaging == "zip" for one in self.artifacts)

    @property
    def reindexes(self) -> bool:
        """Whether the module for reindexing is among them, which the tasks by query are of too."""
        return any(one.artifact == REINDEX for one in self.artifacts)

    def render(self) -> str:
        """Gives the lock file's text: sorted, one line a file, so that a change reads well in a diff."""
        jars = {str(coordinate): self.artifacts[coordinate] for coordinate in sorted(self.artifacts)}
        return json.dumps({"version": self.version, "artifacts": jars}, indent=2) + "\n"

    def write(self) -> Path:
        """Writes the lock to its place and gives the path."""
        path = LOCKS / f"{self.version}.json"
        path.write_text(self.render(), encoding="utf-8")
        return path


def locked_versions() -> list[str]:
    """Gives the versions that have a lock, oldest first."""
    return sorted(
        (path.stem for path in LOCKS.glob("*.json")), key=lambda text: [int(part) for part in text.split(".")]
    )


def read_lock(version: str) -> Lock:
    """Gives the lock of a version.

    Raises:
        LabError: there is no lock of that version.
    """
    path = LOCKS / f"{version}.json"
    if version not in locked_versions():
        known = ", ".join(locked_versions()) or "none"
        raise LabError(
            f"OpenSearch {version} has no lock (there are: {known}); "
            f"make one with python -m tests.lab.opensearch lock {version}."
        )
    content = json.loads(path.read_text(encoding="utf-8"))
    return Lock(version, {Coordinate.parse(text): digest for text, digest in content["artifacts"].items()})
