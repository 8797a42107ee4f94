"""The configuration of a member in a container: variables and mounted files, as official images take them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.lab.errors import LabError
from tests.lab.images import ContainerContext

_SETTING_NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)+")
# In a network of its own this is the pod's one address; here it would be that of all pods.
_EVERYWHERE = "0.0.0.0"  # noqa: S104 - compared, not bound to
# Lists that may be empty: an empty text is an unset variable elsewhere, here it means "none".
_LIST_SETTINGS = frozenset({"node.roles"})
_ENTRY = re.compile(r"docker-entrypoint\.sh\s*$")
_COPY = re.compile(r"\bcp\s+(\S+)\s+\S+\.yml\b")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
LOGGING = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] [%node_name] %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""
"""A member logs all to its output, which the kubelet keeps."""


@dataclass(frozen=True)
class Server:
    """The differences between images of servers of this family."""

    installation: str
    """The folder in the image."""
    settings_file: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings of every member in the lab."""


OPENSEARCH = Server("/usr/share/opensearch", "opensearch.yml", {"bootstrap.system_call_filter": False})


def member_settings(server: Server, context: ContainerContext, *, with_file: bool = True) -> dict[str, Any]:
    """Gives the member's settings by full name; a variable wins over the mounted file, both over the defaults."""
    data = context.mounts.get(f"{server.installation}/data")
    settings: dict[str, Any] = {
        "node.name": context.pod,
        "network.host": context.address,
        "http.port": 9200,
        "transport.port": 9300,
        "path.data": str(data if data is not None else made(context.scratch / "data", context.scratch)),
        "path.logs": str(made(context.scratch / "logs", context.scratch)),
        "cluster.routing.allocation.disk.threshold_enabled": False,
        "indices.breaker.total.use_real_memory": False,
    }
    settings.update(server.settings)
    if context.env.get("DISABLE_SECURITY_PLUGIN") == "true":
        settings["plugins.security.disabled"] = True
    if zone := context.env.get("LAB_ZONE"):
        settings["node.attr.zone"] = zone
    if with_file:
        settings.update(_mounted_settings(server, context))
    settings.update(_environment_settings(context.env))
    if settings["network.host"] == _EVERYWHERE:
        settings["network.host"] = context.address
    return settings


def as_options(settings: Mapping[str, Any]) -> list[str]:
    """Gives settings as options of the server, which win over its file. No option can say that a list is empty."""
    texts = {
        name: ",".join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else value
        for name, value in settings.items()
    }
    return [f"-E{name}={text}" for name, text in sorted(texts.items()) if text != ""]


def is_entry(command: Sequence[str]) -> bool:
    """Whether a command ends in the entry point of the image, which the lab is itself.

    In an image the entry point takes the file of settings that a script before it has put into its place. A pool so has
    one Secret with a file for each of its members: `cp /mounted/$HOSTNAME config/opensearch.yml && exec …`.
    """
    return tuple(command[:2]) == ("sh", "-c") and len(command) == 3 and bool(_ENTRY.search(command[2]))


def _copied(context: ContainerContext) -> Path | None:
    """Gives the mounted file that the command of the pod puts into the place of the settings' file."""
    found = _COPY.search(context.command[2]) if is_entry(context.command) else None
    if found is None:
        return None
    path = _VARIABLE.sub(lambda match: context.env.get(match.group(1), ""), found.group(1)).strip("'\"")
    mount = next((each for each in context.mounts if path.startswith(f"{each}/")), None)
    return context.mounts[mount] / path.removeprefix(f"{mount}/") if mount else None


def render(settings: Mapping[str, Any]) -> str:
    """Gives the text of the settings' file; JSON values are YAML too, so an empty list stays a list."""
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


def _mounted_settings(server: Server, context: ContainerContext) -> dict[str, Any]:
    mounts = context.mounts
    whole = mounts.get(f"{server.installation}/config")
    path = mounts.get(
        f"{server.installation}/config/{server.settings_file}", whole / server.settings_file if whole else None
    )
    path = _copied(context) or path
    if path is None or not path.is_file():
        return {}
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise LabError(f"The mounted {path} is no YAML: {error}") from error
    if not isinstance(content, (dict, type(None))):
        raise LabError(f"The mounted {path} is not a mapping of settings; write one setting a line as name: value.")
    return _flat(content or {})


def take_mounted(server: Server, mounts: Mapping[str, Path], configuration: Path, like: Path) -> None:
    """Copies what is mounted in folders of the configuration: a server may read nothing outside of its own."""
    for mount, folder in mounts.items():
        if mount.startswith(f"{server.installation}/config/") and folder.is_dir():
            place = made(configuration / mount.removeprefix(f"{server.installation}/config/"), like)
            for path in (each for each in folder.iterdir() if each.is_file()):
                write(place / path.name, path.read_text(encoding="utf-8"), like)
                (place / path.name).chmod(0o600)


def _flat(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in content.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def made(directory: Path, like: Path) -> Path:
    """Makes a directory that belongs to the owner of the scratch directory, because the process runs as that user."""
    directory.mkdir(exist_ok=True)
    _give(directory, like)
    return directory


def write(path: Path, text: str, like: Path) -> None:
    path.write_text(text, encoding="utf-8")
    _give(path, like)


def _give(path: Path, like: Path) -> None:
    owner = like.stat()
    if os.geteuid() == 0:
        os.chown(path, owner.st_uid, owner.st_gid)
    path.chmod(owner.st_mode & 0o777 if path.is_dir() else 0o644)
