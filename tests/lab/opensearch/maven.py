"""Maven Central: resolving a version's jars with mvn (developers only), and fetching single jars."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from xml.sax.saxutils import escape

import requests
from jgo.maven import MavenContext
from requests.adapters import HTTPAdapter

from tests.lab.errors import LabError
from tests.lab.opensearch.locks import REINDEX, Coordinate, major

_ATTEMPTS = 3
_TIMEOUT_SECONDS = 60
PARALLEL_DOWNLOADS = 12
"""Jars that may come at a time; each connection is used again and again."""
_CHUNK = 1 << 16
# Fixed for every version: geo shapes are optional dependencies of the server, yet it does not start without them.
_SHAPES = (
    Coordinate("org.locationtech.jts", "jts-core", "1.15.0"),
    Coordinate("org.locationtech.spatial4j", "spatial4j", "0.7"),
)

_COLLECTIONS = Coordinate("org.apache.commons", "commons-collections4", "4.5.0")


def sha256(path: Path) -> str:
    """Gives the SHA-256 of a file in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fetch_jar(coordinate: Coordinate, directory: Path) -> Path:
    """Fetches one jar into a private directory and gives its path there. The caller verifies it.

    The directory must be the caller's own: a jar has its final name while it is still coming.

    Raises:
        LabError: the jar cannot be had.
    """
    place = directory / coordinate.directory / coordinate.file_name
    place.parent.mkdir(parents=True, exist_ok=True)
    cause: Exception | None = None
    for repository in [*MavenContext(repo_cache=directory).remote_repos.values()] * _ATTEMPTS:
        try:
            _download(f"{repository}/{coordinate.directory.as_posix()}/{coordinate.file_name}", place)
        except OSError as error:  # as those of requests are
            cause = error
        else:
            return place
    raise LabError(
        f"The jar {coordinate} could not be fetched from the Maven repository ({cause}); "
        "check the connection and run the fetch again."
    ) from cause


def _download(url: str, place: Path) -> None:
    with _session().get(url, stream=True, timeout=_TIMEOUT_SECONDS) as answer, place.open("wb") as file:
        answer.raise_for_status()
        for chunk in answer.iter_content(_CHUNK):
            file.write(chunk)


@lru_cache(maxsize=1)
def _session() -> requests.Session:
    """Gives the connections of this process: to open one for each jar takes longer than most jars do."""
    session = requests.Session()
    session.mount("https://", HTTPAdapter(pool_connections=1, pool_maxsize=PARALLEL_DOWNLOADS))
    return session


def security_plugin(version: str) -> list[Coordinate]:
    """Gives the zip of the security plugin, which fits that version of the server alone; not every one is published.

    From 3.x on it finds collections4 in a module of the server.
    """
    plugin = Coordinate("org.opensearch.plugin", "opensearch-security", f"{version}.0", packaging="zip")
    return [plugin, *([_COLLECTIONS] if major(version) >= 3 else [])]


def resolve(version: str) -> list[Coordinate]:
    """Resolves, with mvn, the jars that an OpenSearch version needs.

    log4j-core must have the version of the log4j-api that comes with the server. Jars with a classifier are native
    code of one platform, for HTTP/3, which the lab does not use; they are left out, so that a lock fits every platform.

    Raises:
        LabError: mvn is missing or cannot resolve the version.
    """
    wanted = [
        Coordinate("org.opensearch", "opensearch", version),
        Coordinate("org.opensearch", "opensearch-plugin-classloader", version),
        Coordinate("org.opensearch.plugin", "transport-netty4-client", version),
        Coordinate("org.opensearch.plugin", REINDEX, version),
        *_SHAPES,
    ]
    if major(version) >= 3:
        wanted += [
            Coordinate("org.opensearch", name, version) for name in ("opensearch-agent", "opensearch-agent-bootstrap")
        ]
    found = _dependencies(version, wanted)
    api = next((one for one in found if one.artifact == "log4j-api"), None)
    if api is None:
        raise LabError(
            f"OpenSearch {version} brings no log4j-api, so the version of log4j-core is unknown; add it here."
        )
    found.append(Coordinate(api.group, "log4j-core", api.version))
    return sorted(one for one in found if not one.classifier)


def _dependencies(version: str, wanted: list[Coordinate]) -> list[Coordinate]:
    """Gives the transitive run-time dependencies of the wanted jars, themselves included."""
    if shutil.which("mvn") is None:
        raise LabError("mvn is not installed, and only it resolves a version's jars; install Maven and run this again.")
    with tempfile.TemporaryDirectory(prefix="opensearch-lock-") as directory:
        pom, listing = Path(directory, "pom.xml"), Path(directory, "listing.txt")
        pom.write_text(_pom(wanted), encoding="utf-8")
        command = [
            "mvn",
            "-q",
            "-B",
            "-f",
            str(pom),
            "dependency:list",
            "-DincludeScope=runtime",
            f"-DoutputFile={listing}",
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            last = next((line for line in done.stdout.splitlines() if "ERROR" in line), "no message")
            raise LabError(
                f"mvn could not resolve OpenSearch {version} ({last}); check the version and the connection."
            )
        return [one for line in listing.read_text(encoding="utf-8").splitlines() if (one := _listed(line)) is not None]


def _listed(line: str) -> Coordinate | None:
    """Reads one line of ``dependency:list``: group:artifact:jar[:classifier]:version:scope."""
    words = line.split()
    match words[0].split(":") if words else []:
        case [group, artifact, "jar", version, _scope]:
            return Coordinate(group, artifact, version)
        case [group, artifact, "jar", classifier, version, _scope]:
            return Coordinate(group, artifact, version, classifier)
    return None


def _pom(wanted: list[Coordinate]) -> str:
    dependencies = "".join(
        f"<dependency><groupId>{escape(one.group)}</groupId><artifactId>{escape(one.artifact)}</artifactId>"
        f"<version>{escape(one.version)}</version></dependency>"
        for one in wanted
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>lock</groupId><artifactId>lock</artifactId>"
        f"<version>1</version><dependencies>{dependencies}</dependencies></project>"
    )
