"""Homes: an OpenSearch installation directory per version, assembled in the cache from the jars that its lock names."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.lab.cache import cache_root, exclusive
from tests.lab.errors import LabError
from tests.lab.opensearch.java import fetch_java, open_to_all
from tests.lab.opensearch.locks import Coordinate, Lock, major, read_lock
from tests.lab.opensearch.maven import PARALLEL_DOWNLOADS, fetch_jar, sha256

_EMPTY_DIRECTORIES = ("bin", "plugins", "extensions", "logs", "config")
_TRANSPORT, _REINDEX = "modules/transport-netty4", "modules/reindex"
_OF_REINDEX = (
    "reindex-",
    "opensearch-rest-client",
    "opensearch-ssl-config",
    "http",
    "commons-codec",
    "commons-logging",
    "slf4j-",
)
"""The artifacts that only the module for reindexing needs, by how their names start."""
_EXTENDS = "extended.plugins="
_DESCRIPTOR = """\
description={description}
version={version}
name={name}
classname=org.opensearch.{classname}
java.version=11
opensearch.version={version}
extended.plugins=
has.native.controller=false
"""
# netty-common opens and accepts the sockets in a privileged block of its own, so the grant is asked of it alone.
_POLICY = """\
grant codeBase "${codebase.netty-common}" {
  permission java.lang.RuntimePermission "getClassLoader";
  permission java.lang.RuntimePermission "setContextClassLoader";
  permission java.io.FilePermission "/proc/sys/net/core/somaxconn", "read";
  permission java.net.SocketPermission "*", "accept,connect";
  permission java.util.PropertyPermission "*", "write";
};
grant codeBase "${codebase.netty-transport}" {
  permission java.util.PropertyPermission "sun.nio.ch.bugLevel", "write";
};
"""


def home_path(lock: Lock) -> Path:
    """Gives where the home of a lock is, or will be; the name changes with what is in it."""
    places = sorted(f"{_room(one)}/{one.file_name} {digest}\n" for one, digest in lock.artifacts.items())
    places += [_EXTENDS] if lock.secured else []
    content = "".join([*places, *_written_files(lock).values()])
    return cache_root() / "opensearch" / f"{lock.version}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def fetch_home(version: str) -> Path:
    """Gives the home of a version, with a Java runtime next to it, fetching and assembling first where needed.

    Raises:
        LabError: the version has no lock, or a jar cannot be had or is not the locked one.
    """
    lock = read_lock(version)
    home = home_path(lock)
    fetch_java()
    with exclusive(home.parent / f".{version}.lock"):
        if not home.is_dir():
            jars = fetch_jars(lock)
            _assemble(lock, jars, home)
    return home


def fetch_jars(lock: Lock) -> dict[Coordinate, Path]:
    """Gives the path of each locked jar in the cache, fetching what is missing and verifying all.

    Raises:
        LabError: a jar cannot be had, or is not the locked one.
    """
    repository = cache_root() / "maven"
    jars = {one: repository / one.directory / one.file_name for one in lock.artifacts}
    missing = [one for one, path in jars.items() if not path.exists()]
    if missing:
        repository.mkdir(parents=True, exist_ok=True)
        print(f"fetching {len(missing)} jars of OpenSearch {lock.version}", file=sys.stderr, flush=True)
        with (
            tempfile.TemporaryDirectory(dir=repository, prefix=".coming-") as coming,
            ThreadPoolExecutor(PARALLEL_DOWNLOADS) as pool,
        ):
            list(pool.map(lambda one: _fetch_into(one, lock.artifacts[one], Path(coming), jars[one]), missing))
    for coordinate, path in jars.items():
        _verify(coordinate, path, lock.artifacts[coordinate])
    return jars


def _fetch_into(coordinate: Coordinate, digest: str, coming: Path, place: Path) -> None:
    jar = fetch_jar(coordinate, coming)
    _verify(coordinate, jar, digest)
    jar.chmod(0o644)
    place.parent.mkdir(parents=True, exist_ok=True)
    jar.replace(place)


def _verify(coordinate: Coordinate, path: Path, digest: str) -> None:
    found = sha256(path)
    if found != digest:
        raise LabError(
            f"The jar {coordinate} at {path} has SHA-256 {found} where the lock says {digest}; "
            "delete that file and fetch again, and if it stays so, do not trust the source."
        )


def _assemble(lock: Lock, jars: dict[Coordinate, Path], home: Path) -> None:
    """Makes the home next to its place and renames it there, so that a home that exists is whole."""
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f".{lock.version}-") as directory:
        draft = Path(directory, "home")
        for name in (*_EMPTY_DIRECTORIES, "lib", _TRANSPORT, *([_REINDEX] if lock.reindexes else [])):
            (draft / name).mkdir(parents=True)
        for coordinate, jar in jars.items():
            place = draft / _room(coordinate) / coordinate.file_name
            if coordinate.packaging == "zip":
                _unpack(jar, place.parent)
                continue
            try:
                place.hardlink_to(jar)
            except OSError:  # another file system, or links refused there
                shutil.copy2(jar, place)
        for name, text in _written_files(lock).items():
            (draft / name).write_text(text, encoding="utf-8")
        open_to_all(draft)
        draft.rename(home)


def _unpack(archive: Path, place: Path) -> None:
    """Unpacks a plugin; modules of the server that are not published are removed from those that it extends.

    From 3.x on the security plugin names the module rule-framework, for attributes of workload management alone.
    """
    shutil.unpack_archive(archive, place)
    descriptor = place / "plugin-descriptor.properties"
    lines = descriptor.read_text(encoding="utf-8").splitlines()
    kept = [_EXTENDS if line.startswith(_EXTENDS) else line for line in lines]
    descriptor.write_text("\n".join(kept) + "\n", encoding="utf-8")


def _room(coordinate: Coordinate) -> str:
    """Gives the folder of the home that a jar belongs in, or a plugin is unpacked in.

    The agent of 3.x, which fences plugins in, lies in lib for its policy classes, and is not started as an agent:
    that costs a third of the boot and turns class data sharing off.
    """
    if coordinate.packaging == "zip":
        return f"plugins/{coordinate.artifact}"
    if (
        coordinate.artifact.startswith(("netty-", "opensearch-netty4"))
        or coordinate.artifact == "transport-netty4-client"
    ):
        return _TRANSPORT
    return _REINDEX if coordinate.artifact.startswith(_OF_REINDEX) else "lib"


def _written_files(lock: Lock) -> dict[str, str]:
    """Gives the files that only the distribution has, not the jars."""
    old = major(lock.version) < 3
    transport = "transport.Netty4Plugin" if old else "transport.Netty4ModulePlugin"
    written = {
        f"{_TRANSPORT}/plugin-descriptor.properties": _described(
            lock, "transport-netty4", transport, "Netty based transport implementation"
        ),
        f"{_TRANSPORT}/plugin-security.policy": _POLICY,
    }
    if lock.reindexes:
        reindex = "index.reindex.ReindexPlugin" if old else "index.reindex.ReindexModulePlugin"
        written[f"{_REINDEX}/plugin-descriptor.properties"] = _described(
            lock, "reindex", reindex, "Reindexing, and tasks by query"
        )
    return written


def _described(lock: Lock, name: str, classname: str, description: str) -> str:
    return _DESCRIPTOR.format(version=lock.version, name=name, classname=classname, description=description)
