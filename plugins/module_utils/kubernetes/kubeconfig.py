"""Kubeconfigs as kubectl reads them: several files, one context, its cluster and its user, with whole paths.

The package `kubernetes` takes the current context of the last file where kubectl takes that of the first one, takes
paths of a user relative to the file of the cluster, and goes on without credentials where a user is missing. The rules
are those of client-go (tools/clientcmd/loader.go, ClientConfigLoadingRules.Load).
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..common.errors import Refusal, refusal
from ..common.files import replace_file
from ..common.packages import needed
from ..common.words import enumerate_few

Json = dict[str, Any]

REMEDY = "Check kubernetes.kubeconfig and kubernetes.context with `kubectl config view`."
_PARTS = {"clusters": "cluster", "contexts": "context", "users": "user"}
_TEXTS = {
    "context": ("cluster", "user", "namespace"),
    "cluster": ("server", "certificate-authority", "certificate-authority-data", "tls-server-name", "proxy-url"),
    "user": (
        *("client-certificate", "client-certificate-data", "client-key", "client-key-data"),
        *("token", "tokenFile", "username", "password", "as", "as-uid"),
    ),
}
"""The keys whose value is a text. One without quotes, such as a token of digits, would be read as something else."""
_FLAGS = ("insecure-skip-tls-verify", "disable-compression")
_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_DATA = "-data"
PROVIDERS = ("gcp", "oidc")
"""The auth-providers that the package `kubernetes` knows; kubectl has removed all but oidc."""


@dataclass(frozen=True)
class KubeconfigEntry:
    """A cluster, a context or a user, and the file it is from."""

    kind: str
    name: str
    content: Json = field(repr=False)
    file: str

    def fault(self, key: str, what: str) -> Refusal:
        """The refusal for one of its values, which is not quoted."""
        return unusable(self.file, f"{key} of {self.kind} {self.name} {what}")

    def holds(self, key: str) -> bool:
        """Whether it has a file of this name, or its data."""
        return bool({key, key + _DATA} & self.content.keys())

    def label(self, key: str) -> str:
        """A file or data of it in a sentence."""
        key = key if key + _DATA not in self.content else key + _DATA
        where = "" if key.endswith(_DATA) else f", {self.content[key]},"
        return f"{key} of {self.kind} {self.name}{where} in {self.file}"


@dataclass(frozen=True)
class Chosen:
    """The context that counts."""

    context: str
    cluster: KubeconfigEntry
    user: KubeconfigEntry
    save: Callable[[], None]
    """Writes the file of the user with the tokens that the package has renewed in it."""

    def as_config(self) -> Json:
        """A kubeconfig of these alone."""
        context = {"cluster": self.cluster.name, "user": self.user.name}
        return {
            "current-context": self.context,
            "contexts": [{"name": self.context, "context": context}],
            "clusters": [{"name": self.cluster.name, "cluster": self.cluster.content}],
            "users": [{"name": self.user.name, "user": self.user.content}],
        }


def unusable(where: str, cause: str, remedy: str = REMEDY) -> Refusal:
    """The refusal for a kubeconfig."""
    return refusal("kubernetes_configuration", f"The kubeconfig {where} cannot be used: {cause}.", remedy)


def choose(kubeconfig: str, context: str | None, *, needs_user: bool) -> Chosen:
    """The context of these files, which are separated as in PATH; missing ones are left out.

    Raises:
        Refusal: there is none, or a part of it cannot be used; the file and the fault are named, and no value.
    """
    paths = [os.path.abspath(os.path.expanduser(each)) for each in kubeconfig.split(os.pathsep) if each]
    files = {path: _read(path) for path in paths if os.path.exists(path)}
    if not files:
        raise unusable(kubeconfig, f"there is no such file{'' if len(paths) < 2 else 's'}")
    found = {kind: _merged(files, kind) for kind in _PARTS}
    name = context or next((str(each["current-context"]) for each in files.values() if each.get("current-context")), "")
    if not name:
        raise unusable(kubeconfig, "it has no current-context, and kubernetes.context is not given")
    of = _named(kubeconfig, found, "contexts", name, "")
    owner = f" of context {name}"
    cluster = _named(kubeconfig, found, "clusters", of.content.get("cluster") or "", owner)
    user = of.content.get("user") or ""
    if (not user or user not in found["users"]) and not needs_user:
        mine = KubeconfigEntry("user", user, {}, of.file)
    else:
        mine = _named(kubeconfig, found, "users", user, owner) if user else KubeconfigEntry("user", "", {}, of.file)
    _check_cluster(cluster)
    _check_user(mine)
    return Chosen(name, _with_paths(cluster), _with_paths(mine), lambda: _write(mine.file, files[mine.file]))


def _named(
    where: str, found: Mapping[str, Mapping[str, KubeconfigEntry]], kind: str, name: str, owner: str
) -> KubeconfigEntry:
    if name in found[kind]:
        return found[kind][name]
    there = enumerate_few(sorted(found[kind]))
    raise unusable(
        where,
        f"it has no {_PARTS[kind]} {name}{owner}".replace("  ", " ").rstrip()
        + (f"; there is {there}" if there else f", and no {kind} at all"),
    )


def _read(path: str) -> Json:
    yaml = needed("yaml", "PyYAML")
    try:
        with open(path, encoding="utf-8") as file:
            # The parser in C, where there is one, is twenty times as fast.
            content = yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        raise unusable(path, str(error.strerror or error), "Let the user that runs Ansible read it.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        # The error would quote what stands there.
        raise unusable(path, f"it is not valid YAML{line}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise unusable(path, "it is no mapping, as a kubeconfig is")
    return content


def _write(path: str, content: Json) -> None:
    """Write it in the place of the old one at once: a kill or a full disk leaves the old one as it is."""
    said, place = needed("yaml", "PyYAML").safe_dump(content, default_flow_style=False), os.path.realpath(path)
    try:
        replace_file(place, said, keep_mode=True)
    except PermissionError:
        with open(place, "w", encoding="utf-8") as file:  # only the file itself may be written
            file.write(said)


def _merged(files: Mapping[str, Json], kind: str) -> dict[str, KubeconfigEntry]:
    """The entries of a kind by their names; of several files the first one counts."""
    merged: dict[str, KubeconfigEntry] = {}
    for path, content in files.items():
        for name, entry in _entries(path, content.get(kind) or [], kind).items():
            merged.setdefault(name, entry)
    return merged


def _entries(path: str, items: Any, kind: str) -> dict[str, KubeconfigEntry]:
    single, entries = _PARTS[kind], dict[str, KubeconfigEntry]()
    if not isinstance(items, list):
        raise unusable(path, f"its {kind} are no list")
    for number, item in enumerate(items, start=1):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str):
            raise unusable(path, f"entry {number} of its {kind} has no name")
        inner = item.get(single) or {}
        if not isinstance(inner, dict):
            raise unusable(path, f"{single} {name} is no mapping")
        if name in entries:
            raise unusable(path, f"it has two {kind} of the name {name}")
        entries[name] = KubeconfigEntry(single, name, inner, path)
    return entries


def _check_texts(entry: KubeconfigEntry) -> None:
    for key in _TEXTS[entry.kind]:
        value = entry.content.get(key)
        if value is not None and not isinstance(value, str):
            raise entry.fault(key, "is no text; put it between quotes")
    for key in _FLAGS:
        if not isinstance(entry.content.get(key, False), bool):
            raise entry.fault(key, "is neither true nor false")
    for key in _FILES:
        _check_data(entry, key + _DATA)


def _check_data(entry: KubeconfigEntry, key: str) -> None:
    try:
        base64.b64decode("".join((entry.content.get(key) or "").split()), validate=True)
    except (binascii.Error, ValueError):
        raise entry.fault(key, "is not in base64") from None


def _check_cluster(cluster: KubeconfigEntry) -> None:
    _check_texts(cluster)
    if not cluster.content.get("server"):
        raise unusable(cluster.file, f"cluster {cluster.name} has no server")


def _check_user(user: KubeconfigEntry) -> None:
    _check_texts(user)
    provider = user.content.get("auth-provider") or {}
    name = provider.get("name") if isinstance(provider, dict) else None
    if provider and name not in PROVIDERS:
        remedy = "Use a credential plugin (exec), as kubectl has since 1.26; or give kubernetes.api_key."
        raise unusable(user.file, f"auth-provider {name} of user {user.name} is not supported", remedy)


def _with_paths(entry: KubeconfigEntry) -> KubeconfigEntry:
    """The entry with whole paths, and with the content of its token file."""
    folder = os.path.dirname(entry.file)
    content = {key: value for key, value in entry.content.items() if value is not None}
    for key in _FILES:
        if key + _DATA in content:
            content.pop(key, None)
        elif content.get(key):
            content[key] = os.path.join(folder, content[key])
            _try_to_read(KubeconfigEntry(entry.kind, entry.name, content, entry.file), key)
    if "tokenFile" in content:
        content.pop("token", None)  # as in client-go, which takes the content of the file first
    plugin = content.get("exec")
    if isinstance(plugin, dict) and os.sep in str(plugin.get("command") or ""):
        content["exec"] = {**plugin, "command": os.path.join(folder, plugin["command"])}
    return KubeconfigEntry(entry.kind, entry.name, content, entry.file)


def _try_to_read(entry: KubeconfigEntry, key: str) -> None:
    path = entry.content[key]
    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError as error:
        said = f"names {path}, which cannot be read ({error.strerror or error})"
        raise entry.fault(key, said) from error
