"""The spec of a pod, or of a template of pods, as far as a restart in place depends on it. Pure: no client.

The settings that a pod gives to its server outside the configuration file are what the official entry points read
(docker-entrypoint.sh, opensearch-docker-entrypoint.sh, opensearch-env, elasticsearch-env): variables in the form of a
setting, with a dot; `ES_SETTING_` variables; the Java options; and `-E` arguments. They win over the file. Values of
variables are read only where a rule depends on them, and are in no result.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from posixpath import normpath

from ...common.reading import Json, flag, listed, optional_text, part, text, texts, within

_DOTTED = re.compile(r"[-a-z0-9_]+(\.[-a-z0-9_]+)+|processors")
_ESCAPED = re.compile(r"ES_SETTING(_{1,2}[A-Z]+)+")
_ARGUMENT = re.compile(r"(?:^|[\s'\"])-E\s*([-A-Za-z0-9_.]+)=")
_URL_SCHEME = re.compile(r"\b(https?)://")
_JAVA = frozenset({"OPENSEARCH_JAVA_OPTS", "ES_JAVA_OPTS", "OPENSEARCH_JAVA_HOME", "ES_JAVA_HOME", "JAVA_HOME"})
_FOLDERS = frozenset({"OPENSEARCH_PATH_CONF", "ES_PATH_CONF"})
_SECURITY = "DISABLE_SECURITY_PLUGIN"
_SOURCES = {
    "secret": "secretName",
    "configMap": "name",
    "persistentVolumeClaim": "claimName",
    "image": "reference",
    "csi": "driver",
}
"""The fields of kinds of volumes that name what is mounted (core/v1 Volume)."""


@dataclass(frozen=True)
class Mount:
    """One volume in one container."""

    path: str
    by_sub_path: bool
    kind: str
    """The kind of the volume as Kubernetes calls it; `claim` for one of a claim template."""
    sources: tuple[tuple[str, str], ...]
    """The kind and the name of each thing whose content it shows."""
    read_only: bool
    listed: tuple[tuple[str, frozenset[str]], ...] = ()
    """The Secrets of which it shows single keys only, each with those that are files of the same name."""

    def shows(self, secret: str, keys: Collection[str]) -> bool:
        """Whether it shows these keys of a Secret, each as a file of the same name."""
        return {*keys} <= self.keys_of(secret) if secret in dict(self.listed) else True

    def keys_of(self, secret: str) -> frozenset[str]:
        """The keys of a Secret that it lists."""
        return frozenset(key for name, keys in self.listed if name == secret for key in keys)


@dataclass(frozen=True)
class FromPod:
    """One thing that the pod gives to its server outside the configuration file."""

    place: str
    """The variable or argument, without a value."""
    setting: str = ""
    """The setting that it sets; empty if it is none, or if it is not known which."""


@dataclass(frozen=True)
class Probe:
    """A probe of a container that ends it."""

    kind: str
    """It is `livenessProbe` or `startupProbe`."""
    asks: str
    """The question of the probe, in words."""
    port: int | str | None
    """The port that it asks, by number where that is known; None for a command."""


def container_of(spec: Json, name: str) -> Json:
    """The container of this name; an empty one if there is none."""
    found = {text(each, "name"): each for each in listed(spec, "containers", dict, ())}
    return found.get(name, {})


def mounts_of(spec: Json, container: str, claims: tuple[str, ...] = ()) -> tuple[Mount, ...]:
    """The volumes in a container. `claims` are the claim templates of its set."""
    volumes = {text(each, "name"): each for each in listed(spec, "volumes", dict, ())}
    return listed(container_of(spec, container), "volumeMounts", lambda each: _mount(each, volumes, claims), ())


def _mount(mount: Json, volumes: Mapping[str, Json], claims: tuple[str, ...]) -> Mount:
    name = text(mount, "name")
    volume = volumes.get(name, {})
    kind = "claim" if name in claims else next(iter(volume.keys() - {"name"}), "emptyDir")
    return Mount(
        path=normpath(text(mount, "mountPath")),
        by_sub_path=bool(optional_text(mount, "subPath") or optional_text(mount, "subPathExpr")),
        kind=kind,
        sources=tuple(_sources(kind, part(volume, kind, {}))),
        read_only=flag(mount, "readOnly", default=False) or kind in {"secret", "configMap", "projected", "image"},
        listed=tuple(_listed(kind, part(volume, kind, {}))),
    )


def _sources(kind: str, details: Json) -> Iterator[tuple[str, str]]:
    if kind == "projected":
        for source in listed(details, "sources", dict, ()):
            for each in ("secret", "configMap"):
                if source.get(each) is not None:
                    yield each, within(source, each, lambda found: text(found, "name", ""))
    elif kind in _SOURCES:
        yield kind, text(details, _SOURCES[kind], "")


def _listed(kind: str, details: Json) -> Iterator[tuple[str, frozenset[str]]]:
    """The Secrets of which keys are listed, each with these keys. One that is shown whole as well is left out."""
    if kind == "secret":
        found = [(text(details, "secretName", ""), _keys(details))]
    elif kind == "projected":
        sources = (each for each in listed(details, "sources", dict, ()) if each.get("secret") is not None)
        found = [within(each, "secret", lambda one: (text(one, "name", ""), _keys(one))) for each in sources]
    else:
        found = []
    whole = {name for name, keys in found if keys is None}
    yield from ((name, keys) for name, keys in found if keys is not None and name not in whole)


def _keys(details: Json) -> frozenset[str] | None:
    """The keys that are listed; None if none are. A file has the name of its key only if no other path is given."""
    items = listed(details, "items", lambda each: (text(each, "key"), text(each, "path")), ())
    return frozenset(key for key, path in items if key == path) if items else None


def at(mounts: tuple[Mount, ...], path: str) -> Mount | None:
    """The volume that shows a path: the one with the deepest mount at it or above it."""
    above = [each for each in mounts if f"{normpath(path)}/".startswith(f"{each.path.rstrip('/')}/")]
    return max(above, key=lambda each: len(each.path), default=None)


def from_pod(spec: Json, container: str) -> tuple[FromPod, ...]:
    """All that the pod gives to the server of this container outside the configuration file."""
    of = container_of(spec, container)
    words = " ".join((*texts(of, "command", ()), *texts(of, "args", ())))
    return (
        *(found for each in listed(of, "env", dict, ()) for found in _of_variable(each)),
        *(found for each in listed(of, "envFrom", dict, ()) for found in _of_variables(each)),
        *(FromPod(f"the argument -E{name}", name) for name in _ARGUMENT.findall(words)),
    )


def _of_variable(variable: Json) -> Iterator[FromPod]:
    name, value = text(variable, "name"), text(variable, "value", "")
    if not value and variable.get("valueFrom") is None:
        return
    place = f"the variable {name}"
    if _DOTTED.fullmatch(name):
        yield FromPod(place, name)
    elif _ESCAPED.fullmatch(name):
        yield FromPod(place, name.removeprefix("ES_SETTING_").replace("_", ".").replace("..", "_").lower())
    elif name == _SECURITY and value.lower() != "false":
        yield FromPod(place, "plugins.security.disabled")
    elif name in _JAVA | _FOLDERS:
        yield FromPod(place)


def _of_variables(each: Json) -> Iterator[FromPod]:
    for kind, called in (("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
        if each.get(kind) is not None:
            yield FromPod(f"the variables of {called} {within(each, kind, lambda found: text(found, 'name', ''))}")


def elsewhere(found: tuple[FromPod, ...]) -> dict[str, str]:
    """The settings that the pod sets outside the file, each with the place."""
    return {each.setting: each.place for each in found if each.setting}


def probes_of(spec: Json, container: str) -> tuple[Probe, ...]:
    """The probes that make the kubelet end a container."""
    of = container_of(spec, container)
    ports = dict(listed(of, "ports", lambda each: (text(each, "name", ""), each.get("containerPort")), ()))
    found = ((kind, part(of, kind, {})) for kind in ("livenessProbe", "startupProbe"))
    return tuple(_probe(kind, probe, ports) for kind, probe in found if probe)


def _probe(kind: str, probe: Json, ports: Mapping[str, object]) -> Probe:
    for way in ("httpGet", "tcpSocket", "grpc"):
        if probe.get(way) is not None:
            named = part(probe, way).get("port")
            port = ports.get(named, named) if isinstance(named, str) else named
            path = text(part(probe, way), "path", "/") if way == "httpGet" else ""
            return Probe(
                kind, f"{way} {path}".strip() + f" on port {named}", port if isinstance(port, (int, str)) else ""
            )
    return Probe(kind, "a command" if probe.get("exec") is not None else "an unknown question", None)


@dataclass(frozen=True)
class SchemeOfProbe:
    """The scheme by which a probe asks."""

    kind: str
    """The field of the container, such as `readinessProbe`."""
    scheme: str
    """`http` or `https`."""
    port: int | str | None
    """The port of an httpGet, by number where that is known; None for a command."""


def schemes_of_probes(spec: Json, container: str) -> tuple[SchemeOfProbe, ...]:
    """The probes that ask by one scheme: each httpGet, and each command that names URLs of one scheme alone."""
    of = container_of(spec, container)
    ports = dict(listed(of, "ports", lambda each: (text(each, "name", ""), each.get("containerPort")), ()))
    kinds = ("readinessProbe", "livenessProbe", "startupProbe")
    found = ((kind, part(of, kind, {})) for kind in kinds)
    return tuple(each for kind, probe in found for each in _scheme_of(kind, probe, ports))


def _scheme_of(kind: str, probe: Json, ports: Mapping[str, object]) -> Iterator[SchemeOfProbe]:
    if probe.get("httpGet") is not None:
        asked = part(probe, "httpGet")
        named = asked.get("port")
        port = ports.get(named, named) if isinstance(named, str) else named
        yield SchemeOfProbe(kind, text(asked, "scheme", "HTTP").lower(), port if isinstance(port, (int, str)) else "")
    elif probe.get("exec") is not None:
        words = " ".join(within(probe, "exec", lambda each: texts(each, "command", ()), {}) or ())
        schemes = set(_URL_SCHEME.findall(words))
        if len(schemes) == 1:
            yield SchemeOfProbe(kind, schemes.pop(), None)


def shares_processes(spec: Json) -> bool:
    """Whether the containers of the pod see each other's processes, so that process 1 is not theirs."""
    return flag(spec, "shareProcessNamespace", default=False) or flag(spec, "hostPID", default=False)
