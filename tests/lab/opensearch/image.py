# SPDX-License-Identifier: GPL-3.0-or-later
"""The image ``opensearch:<version>``: how a container of it becomes one Java process on this machine.

It understands what the official image does: settings as environment variables with dots in their names, a mounted
``/usr/share/opensearch/config/opensearch.yml`` and folders beside it, ``DISABLE_SECURITY_PLUGIN``, and data at the
mount of ``/usr/share/opensearch/data``.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.lab.errors import LabError
from tests.lab.images import ContainerContext, Image, ImageNotFound, Launch
from tests.lab.opensearch.homes import home_path
from tests.lab.opensearch.java import java_path, java_version
from tests.lab.opensearch.locks import major, read_lock

_INSTALLATION = "/usr/share/opensearch"
_SETTING_NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)+")
# In a network of its own this is the pod's one address; here it would be that of all pods.
_EVERYWHERE = "0.0.0.0"  # noqa: S104 - compared, not bound to
# Lists that may be empty: an empty text is an unset variable elsewhere, here it means "none".
_LIST_SETTINGS = frozenset({"node.roles"})
DEFAULT_HEAP = "-Xms256m -Xmx256m"
"""The heap unless OPENSEARCH_JAVA_OPTS is given."""
ARCHIVE, NO_ARCHIVE = "LAB_CLASS_ARCHIVE", "none"
"""The variable of a container that starts without the lab's class archive, as a server elsewhere does."""
# Many short-lived members share few cores: a small collector and a quick compiler boot faster than the defaults.
_JVM_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Dlog4j2.disable.jmx=true",
    "-Dlog4j.shutdownHookEnabled=false",
    "-Dio.netty.noUnsafe=true",
    "-Dio.netty.noKeySetOptimization=true",
    "-Dio.netty.recycler.maxCapacityPerThread=0",
)
_LOGGING = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] [%node_name] %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


@dataclass(frozen=True)
class OpenSearchImage:
    """One version, assembled at ``home``."""

    version: str
    home: Path

    @property
    def folders(self) -> Mapping[str, Path]:
        """Its home. A member tells the home of its own version, which in a container has the same name in all."""
        homes = [each for each in self.home.parent.iterdir() if (each / "plugins").is_dir()]
        return {_INSTALLATION: self.home, **{str(each): self.home for each in homes}}

    def launch(self, context: ContainerContext) -> Launch:
        """Gives the Java process itself, no shell between, so that signals reach it; writes its configuration first.

        Raises:
            LabError: the mounted opensearch.yml is not a mapping.
        """
        configuration, temporary = (_made(context.scratch / name, context.scratch) for name in ("config", "tmp"))
        settings = member_settings(context)
        _take_mounted(context.mounts, configuration, context.scratch)
        _write(configuration / "opensearch.yml", render(settings), context.scratch)
        _write(configuration / "log4j2.properties", _LOGGING, context.scratch)
        options = [
            *shlex.split(context.env.get("OPENSEARCH_JAVA_OPTS", DEFAULT_HEAP)),
            *_JVM_OPTIONS,
            *self._version_options(),
        ]
        options += [f"-Djava.io.tmpdir={temporary}", f"-Dopensearch.path.home={self.home}"]
        if (archive := archive_path(self.home)).exists() and context.env.get(ARCHIVE) != NO_ARCHIVE:
            options.append(f"-XX:SharedArchiveFile={archive}")
        options += [f"-Dopensearch.path.conf={configuration}", "-cp", class_path(self.home)]
        argv = (str(java_path()), *options, "org.opensearch.bootstrap.OpenSearch", *context.args)
        return Launch(argv, context.env, context.scratch)

    def _version_options(self) -> list[str]:
        """Gives what guards the process: up to 2.x a security manager, which Java 18 and later allow only when told."""
        return ["-Djava.security.manager=allow"] if major(self.version) < 3 else []


def image(version: str) -> Image:
    """Gives the image of a version whose home has been fetched.

    Raises:
        ImageNotFound: no such version is locked, or its home is not fetched.
    """
    try:
        home = home_path(read_lock(version))
    except LabError as error:
        raise ImageNotFound(str(error)) from error
    if not home.is_dir():
        raise ImageNotFound(
            f"OpenSearch {version} is not fetched; run python -m tests.lab.opensearch fetch {version} first."
        )
    return OpenSearchImage(version, home)


def archive_path(home: Path) -> Path:
    """Gives where the class archive of a home is, if one has been made; it fits one Java runtime."""
    return home / f"classes-{java_version()}.jsa"


def class_path(home: Path) -> str:
    """Gives Java's class path; the archive holds for this one alone."""
    return f"{home}/lib/*"


def member_settings(context: ContainerContext) -> dict[str, Any]:
    """Gives the member's settings by full name; a variable wins over the mounted file, both over the defaults."""
    data = context.mounts.get(f"{_INSTALLATION}/data")
    settings: dict[str, Any] = {
        "node.name": context.pod,
        "network.host": context.address,
        "http.port": 9200,
        "transport.port": 9300,
        "path.data": str(data if data is not None else _made(context.scratch / "data", context.scratch)),
        "path.logs": str(_made(context.scratch / "logs", context.scratch)),
        "bootstrap.system_call_filter": False,
        "cluster.routing.allocation.disk.threshold_enabled": False,
        "indices.breaker.total.use_real_memory": False,
    }
    if context.env.get("DISABLE_SECURITY_PLUGIN") == "true":
        settings["plugins.security.disabled"] = True
    if zone := context.env.get("LAB_ZONE"):
        settings["node.attr.zone"] = zone
    settings.update(_mounted_settings(context.mounts))
    settings.update(_environment_settings(context.env))
    if settings["network.host"] == _EVERYWHERE:
        settings["network.host"] = context.address
    return settings


def render(settings: Mapping[str, Any]) -> str:
    """Gives the text of opensearch.yml; JSON values are YAML too, so an empty list stays a list."""
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in sorted(settings.items()))


def _environment_settings(env: Mapping[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for name, value in env.items():
        if not _SETTING_NAME.fullmatch(name):
            continue
        if name in _LIST_SETTINGS:
            settings[name] = [part.strip() for part in value.strip("[] ").split(",") if part.strip()]
        elif value:
            settings[name] = value
    return settings


def _mounted_settings(mounts: Mapping[str, Path]) -> dict[str, Any]:
    whole = mounts.get(f"{_INSTALLATION}/config")
    path = mounts.get(f"{_INSTALLATION}/config/opensearch.yml", whole / "opensearch.yml" if whole else None)
    if path is None or not path.is_file():
        return {}
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(content, (dict, type(None))):
        raise LabError(f"The mounted {path} is not a mapping of settings; write one setting a line as name: value.")
    return _flat(content or {})


def _take_mounted(mounts: Mapping[str, Path], configuration: Path, like: Path) -> None:
    """Copies what is mounted in folders of the configuration: a server may read nothing outside of its own."""
    for mount, folder in mounts.items():
        if mount.startswith(f"{_INSTALLATION}/config/") and folder.is_dir():
            place = _made(configuration / mount.removeprefix(f"{_INSTALLATION}/config/"), like)
            for path in folder.iterdir():
                _write(place / path.name, path.read_text(encoding="utf-8"), like)
                (place / path.name).chmod(0o600)


def _flat(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in content.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _made(directory: Path, like: Path) -> Path:
    """Makes a directory that belongs to whoever the scratch directory belongs to, for the process runs as that user."""
    directory.mkdir(exist_ok=True)
    _give(directory, like)
    return directory


def _write(path: Path, text: str, like: Path) -> None:
    path.write_text(text, encoding="utf-8")
    _give(path, like)


def _give(path: Path, like: Path) -> None:
    owner = like.stat()
    if os.geteuid() == 0:
        os.chown(path, owner.st_uid, owner.st_gid)
    path.chmod(owner.st_mode & 0o777 if path.is_dir() else 0o644)
