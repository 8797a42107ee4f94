"""Whether a pod can take a new configuration, or another plugin, without being replaced. Pure.

The kubelet follows a Secret in a mounted directory, and never in a mount by subPath (Kubernetes documentation, Secrets:
"A container using a Secret as a subPath volume mount does not receive automated Secret updates"). The members of a pool
read one Secret by their pod names, so that a pod which crashes during a run starts on its own old content.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...common.reading import Json
from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ..observe.pod_spec import FromPod, Mount, Probe, at
from .setting_rules import SettingEffect
from .settings_table import HIDDEN, SettingChange, SettingChanges

_POD = "it is part of the pod, which takes it only when it is made"
_POD_SOURCE = "Kubernetes API, a pod takes these fields when it is made"


@dataclass(frozen=True)
class Mounted:
    """How the configuration of a pool comes to its server."""

    directory: str
    """The directory with one file for each member; empty if there is none that follows the Secret."""
    cause: str = ""
    """Why a new configuration needs a new pod; empty if it does not."""
    new_pod_reads: bool = False
    """Whether a new pod would read the Secret, where a cause is given."""


def how_mounted(mounts: tuple[Mount, ...], file: str, secret: str, members: Collection[str] = ()) -> Mounted:
    """How the server's configuration file comes to it. It should be the whole Secret, mounted as a directory.

    `file` is the path of the server's own configuration file. A single file that is mounted there counts first.
    """
    shown = at(mounts, file)
    if shown is not None and shown.by_sub_path and _names(shown):
        cause = f"{_names(shown)} is mounted at {shown.path} by subPath, which the kubelet never updates"
        return Mounted("", cause, new_pod_reads=("secret", secret) in shown.sources)
    whole = [each for each in mounts if ("secret", secret) in each.sources]
    for each in whole:
        if not each.by_sub_path and each.shows(secret, members):
            return Mounted(each.path)
    if whole and whole[0].by_sub_path:
        cause = f"Secret {secret} is mounted at {whole[0].path} by subPath, which the kubelet never updates"
        return Mounted("", cause, new_pod_reads=True)
    if whole:
        missing = enumerate_few({*members} - whole[0].keys_of(secret))
        return Mounted("", f"the volume of Secret {secret} lists its keys, and has no file for {missing}")
    if shown is None:
        return Mounted("", f"no volume is mounted at {file}, so the file is that of the image")
    if named := _names(shown):
        return Mounted("", f"{named} is mounted at {shown.path}, and not Secret {secret} by the names of the pods")
    return Mounted("", f"a volume of the kind {shown.kind} is mounted at {shown.path}, and not Secret {secret}")


def _names(mount: Mount) -> str:
    called = {"secret": "Secret", "configMap": "ConfigMap"}
    return " and ".join(f"{called[kind]} {name}" for kind, name in mount.sources if kind in called)


@as_verdict
def judge_mounted(pool: str, mounted: Mounted, in_place: bool) -> Iterator[Reason]:
    """A refusal, or a remark unless a restart `in_place` is demanded, if a new configuration needs new pods."""
    if mounted.cause:
        yield (refused if in_place else remark)(
            "configuration_needs_new_pod",
            f"A new configuration of pool {pool} needs new pods: {mounted.cause}.",
            "Mount the Secret with the configurations as a directory, without subPath; or have the pods replaced.",
        )


@as_verdict
def judge_read(pool: str, secret: str, mounted: Mounted) -> Iterator[Reason]:
    """A refusal if no server would read the Secret, not even one in a new pod."""
    if mounted.cause and not mounted.new_pod_reads:
        yield refused(
            "configuration_not_read",
            f"No server of pool {pool} would read Secret {secret}, not even in a new pod: {mounted.cause}.",
            f"Mount Secret {secret} as a directory, with one file for each pod. Or change the configuration at its"
            " place, and run without a configuration and with replace_pods: always.",
        )


@as_verdict
def judge_from_pod(pool: str, found: tuple[FromPod, ...]) -> Iterator[Reason]:
    """A remark on settings and options that the pods give to their server outside the configuration file."""
    if found:
        yield remark(
            "settings_of_pod",
            f"The pods of pool {pool} set {enumerate_few(each.place.removeprefix('the ') for each in found)} outside of"
            " the configuration file, so a change of these needs new pods.",
            "Move the settings into the configuration file.",
        )


@as_verdict
def judge_probes(pool: str, container: str, probes: tuple[Probe, ...], agent_port: int) -> Iterator[Reason]:
    """Refusals of probes because of which the kubelet would start a server again that a run has stopped."""
    for each in probes:
        if each.port == agent_port:
            continue
        said = f"The {each.kind} of container {container} in pool {pool} ({each.asks})"
        remedy = f"Take it out, or make it a tcpSocket on port {agent_port} of the agent."
        if each.kind == "livenessProbe":
            yield refused(
                "probe_restarts_stopped", f"{said} would restart the container while its server is stopped.", remedy
            )
        else:
            yield remark(
                "probe_restarts_stopped",
                f"{said} would restart the container again and again if it started while its server is stopped.",
                remedy,
            )


@as_verdict
def judge_signal(pool: str, shared: bool) -> Iterator[Reason]:
    """A refusal where a signal to process 1 of a container would reach another process than the server."""
    if shared:
        yield refused(
            "process_namespace_shared",
            f"The containers of pool {pool} share one process namespace, so process 1 is not the server, and a signal"
            " to it would end the whole pod.",
            "Take shareProcessNamespace (or hostPID) out of the pool, or restart by the agent.",
        )


@dataclass(frozen=True)
class Survival:
    """Whether the plugins of a server are still there after a restart."""

    process: bool
    """Whether they are still there after its process has restarted in the same container."""
    container: bool
    """Whether they are still there after its container has restarted."""
    pod: bool
    """Whether they are still there in a new pod of the same name."""
    why: str


def plugins_survive(mounts: tuple[Mount, ...], directory: str) -> Survival:
    """Whether plugins that were installed into a running container are there after a restart."""
    shown = at(mounts, directory)
    if shown is None:
        return Survival(
            True, False, False, f"{directory} is on no volume, so it is that of the image in each new container"
        )
    if shown.read_only:
        return Survival(False, False, False, f"{shown.path} is mounted read-only, so no plugin can be installed there")
    if shown.kind == "emptyDir":
        return Survival(True, True, False, f"{shown.path} is on a volume of the kind emptyDir, which goes with its pod")
    return Survival(True, True, True, f"{shown.path} is on a volume, which outlives the pod")


def template_changes(current: Json, wanted: Json) -> SettingChanges:
    """The parts of a template of pods that differ, each of which needs new pods. No values are shown."""
    before, after = _parts(current), _parts(wanted)
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    hidden = {True: HIDDEN, False: None}
    return SettingChanges(
        tuple(
            SettingChange(name, SettingEffect.NEW_POD, _POD, _POD_SOURCE, hidden[name in before], hidden[name in after])
            for name in names
        )
    )


def _parts(spec: Json) -> dict[str, Any]:
    """The fields of a spec of pods, with those of its containers and the names of their variables."""
    found: dict[str, Any] = {}
    for field, value in spec.items():
        if field not in ("containers", "initContainers"):
            found[field] = value
            continue
        for container in value or []:
            of = f"of container {container.get('name')}"
            found.update({f"{name} {of}": each for name, each in container.items() if name not in ("name", "env")})
            found.update({f"variable {each.get('name')} {of}": each for each in container.get("env") or []})
    return {name: value for name, value in found.items() if not _is_empty(value)}


def _is_empty(value: Any) -> bool:
    """Whether a field says nothing, so that it is the same as an absent one."""
    return value is None or (isinstance(value, (Mapping, list, str)) and not value)
