"""Homes: an installation directory per version, unpacked into the cache from the zip that Elastic publishes for tests.

The zip is on Maven Central. It has the server with its transport and security, no Java, and few modules: no banner
(`GET /`), no node shutdown, no reindexing. Not every version is published.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.lab.cache import cache_root, exclusive
from tests.lab.errors import LabError
from tests.lab.opensearch.java import fetch_java, open_to_all
from tests.lab.opensearch.locks import Coordinate
from tests.lab.opensearch.maven import fetch_jar, sha256

LOCKED: Mapping[str, str] = {
    "7.17.29": "841ee00be1a72ba8e707b5a2fb55f23fe7a4184369b4585393238b1c903eedaf",
    "8.18.0": "6d31acf7ab3496eaa7cfbdc410095d02ed2232cd26c214c0c69e4f7b3b2958b8",
    "8.19.4": "553088b4c0f60f04d7c63da609aaeae372c483159f4fb8013599e91233aab0de",
}
"""SHA-256 by version. 8.19.21 needs modules of Java that the runtime of the lab does not have."""
STOCKED = ("8.18.0", "8.19.4")
"""The versions that tests boot."""


def home_path(version: str) -> Path:
    """Gives where the home of a locked version is, or will be; the name changes with what is in it.

    Raises:
        LabError: the version is not locked.
    """
    if version not in LOCKED:
        raise LabError(
            f"Elasticsearch {version} is not locked (these are: {', '.join(LOCKED)}); "
            "add the SHA-256 of its zip to LOCKED in tests/lab/elasticsearch/homes.py."
        )
    return cache_root() / "elasticsearch" / f"{version}-{LOCKED[version][:12]}"


def fetch_home(version: str) -> Path:
    """Gives the home of a version, with a Java runtime next to it, fetching and unpacking first where needed.

    Raises:
        LabError: the version is not locked, or its zip cannot be had or is not the locked one.
    """
    home = home_path(version)
    fetch_java()
    home.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(home.parent / f".{version}.lock"):
        if not home.is_dir():
            _unpack(version, home)
    return home


def _unpack(version: str, home: Path) -> None:
    """Unpacks next to the place and renames it there, so that a home that exists is whole. The zip is not kept."""
    print(f"fetching the zip of Elasticsearch {version}", file=sys.stderr, flush=True)
    coordinate = Coordinate("org.elasticsearch.distribution.integ-test-zip", "elasticsearch", version, packaging="zip")
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f".{version}-") as directory:
        archive = fetch_jar(coordinate, Path(directory, "coming"))
        if (found := sha256(archive)) != LOCKED[version]:
            raise LabError(
                f"The zip {coordinate} has SHA-256 {found} where the lock says {LOCKED[version]}; "
                "fetch it again, and if it stays so, do not trust the source."
            )
        shutil.unpack_archive(archive, directory)
        draft = Path(directory, f"elasticsearch-{version}")
        open_to_all(draft)
        draft.rename(home)
