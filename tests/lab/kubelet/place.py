"""The places of pods: the host that the whole lab shares, one Kubernetes node, and one pod's place on it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from tests.lab.addresses import AddressBook
from tests.lab.api import Api, Json
from tests.lab.eventlog import EventLog
from tests.lab.faults import Faults, PodName
from tests.lab.kubelet.recorder import Recorder
from tests.lab.processes import Ledger, User


@dataclass(frozen=True)
class Host:
    """The things that all pods of a lab share."""

    directory: Path
    api: Api
    probing: aiohttp.ClientSession
    ledger: Ledger
    log: EventLog
    recorder: Recorder
    faults: Faults
    addresses: AddressBook
    user: User | None

    def give(self, path: Path) -> Path:
        """Make a directory that the pods' user may write."""
        path.mkdir(parents=True, exist_ok=True)
        if self.user:
            os.chown(path, self.user.uid, self.user.gid)
        return path


@dataclass(frozen=True)
class NodePlace:
    """One Kubernetes node of the lab."""

    name: str
    zone: str
    address: str
    directory: Path
    images: set[str] = field(default_factory=set)


@dataclass
class PodPlace:
    """One pod on its Kubernetes node; the manifest is replaced as the API server reports changes."""

    host: Host
    node: NodePlace
    manifest: Json
    changed: Callable[[], None]
    volumes: dict[str, Path] = field(default_factory=dict)

    @property
    def name(self) -> PodName:
        return self.manifest["metadata"]["namespace"], self.manifest["metadata"]["name"]

    @property
    def uid(self) -> str:
        return str(self.manifest["metadata"]["uid"])

    @property
    def path(self) -> str:
        """The pod in the API."""
        return "/api/v1/namespaces/{}/pods/{}".format(*self.name)

    @property
    def address(self) -> str:
        return self.host.addresses.address("/".join(self.name))

    @property
    def directory(self) -> Path:
        """Goes with the pod."""
        return self.node.directory / "pods" / self.uid

    @property
    def logs(self) -> Path:
        """Stays until the lab ends, so that the logs of deleted pods can be read."""
        return log_directory(self.host.directory, *self.name, self.uid)

    def note(self, event: str, **fields: object) -> None:
        """Write an event of this pod to the lab's log."""
        namespace, pod = self.name
        self.host.log.write(event, namespace=namespace, pod=pod, uid=self.uid, node=self.node.name, **fields)

    def report(self, kind: str, reason: str, message: str) -> None:
        """Send a Kubernetes event about this pod, as a kubelet would."""
        self.host.recorder.report(self.manifest, self.node.name, kind, reason, message)

    def remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)


def log_directory(lab: Path, namespace: str, pod: str, uid: str) -> Path:
    return lab / "logs" / "pods" / f"{namespace}_{pod}_{uid}"
