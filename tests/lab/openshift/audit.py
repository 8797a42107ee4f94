"""All changes of some kinds in the order in which the API server made them, and what may never happen among them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import urllib3
from kubernetes import client, config

from tests.lab.longhorn.requests import ask
from tests.lab.waiting import RealClock
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.openshift.controllers import states
from tests.sandbox.openshift.kinds import (
    CURRENT,
    DESIRED,
    MACHINE_SETS,
    MACHINES,
    POOLS,
    VERSIONS,
    annotations_of,
)
from tests.sandbox.openshift.observer import TAKEN_WHILE_PAUSED, TOO_MANY

_SECONDS = 2
"""Seconds after which a watch that has ended is started again."""
_KINDS = (VERSIONS, POOLS, NODES, MACHINE_SETS, MACHINES)


class Changes:
    """Changes of ClusterVersion, pools, Kubernetes nodes and machines; the version of a resource gives their order."""

    def __init__(self) -> None:
        self._changes: list[tuple[int, Kind, str, Json]] = []

    def note(self, kind: Kind, change: str, item: Json) -> None:
        """Keep a change: ADDED, MODIFIED or DELETED."""
        self._changes.append((int(item["metadata"]["resourceVersion"]), kind, change, item))

    def changes(self) -> list[tuple[Kind, str, Json]]:
        """All of them until now, in their order."""
        return [(kind, change, item) for _place, kind, change, item in sorted(self._changes, key=lambda each: each[0])]

    def wanted(self) -> list[Json]:
        """The desired updates, one after the other."""
        found: list[Json] = []
        before: Json | None = None
        for kind, _change, item in self.changes():
            if kind == VERSIONS:
                wanted = item["spec"].get("desiredUpdate")
                if wanted is not None and wanted != before:
                    found.append(wanted)
                before = wanted
        return found

    def said(self, condition: str) -> list[str]:
        """The messages of a condition of the ClusterVersion, one after the other, with its status and its reason."""
        found: list[str] = []
        for kind, _change, item in self.changes():
            for each in (item.get("status", {}).get("conditions") or []) if kind == VERSIONS else []:
                line = " ".join(filter(None, (each["status"], each.get("reason"), each.get("message"))))
                if each["type"] == condition and found[-1:] != [line]:
                    found.append(line)
        return found

    def taken(self) -> list[list[str]]:
        """The Kubernetes nodes that were taken each time while a pool was open, or was paused again and let go."""
        found: list[list[str]] = []
        paused: dict[str, bool] = {}
        open_: dict[str, list[str]] = {}
        pools: dict[str, Json] = {}
        nodes: dict[str, Json] = {}
        for kind, _change, item in self.changes():
            name = item["metadata"]["name"]
            if kind == POOLS:
                pools[name] = item
                if paused.get(name) is not bool(item["spec"].get("paused")):
                    open_[name] = []
                    found.append(open_[name])
                paused[name] = bool(item["spec"].get("paused"))
            elif kind == NODES and CURRENT in annotations_of(item):
                before, nodes[name] = nodes.get(name), item
                if before is not None and annotations_of(before)[DESIRED] != annotations_of(item)[DESIRED]:
                    open_[states.pool_of(item, pools.values())].append(name)
        return [each for each in found if each]

    def breaches(self) -> list[str]:
        """Kubernetes nodes that were taken from a paused pool, and pools with more of them away than they let go."""
        found: list[str] = []
        pools: dict[str, Json] = {}
        nodes: dict[str, Json] = {}
        for kind, change, item in self.changes():
            name = item["metadata"]["name"]
            if kind == POOLS:
                pools[name] = item
            elif kind == NODES and CURRENT in annotations_of(item):
                before = nodes.get(name)
                nodes[name] = item
                if change == "DELETED":
                    del nodes[name]
                elif before is not None and annotations_of(before)[DESIRED] != annotations_of(item)[DESIRED]:
                    found += _taken(item, pools, nodes)
        return found


class Audit(Changes):
    """It watches until it is closed."""

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__()
        self._kubeconfig = kubeconfig
        self._closing = threading.Event()
        self.failure: BaseException | None = None
        self._threads = [threading.Thread(target=self._watch, args=(kind,), daemon=True) for kind in _KINDS]
        for each in self._threads:
            each.start()

    def close(self) -> None:
        """End when all that has happened until now is known. Raises what a watch has failed with."""
        self._closing.set()
        for each in self._threads:
            each.join()
        if self.failure is not None:
            raise self.failure

    def _watch(self, kind: Kind) -> None:
        try:
            with config.new_client_from_config(config_file=str(self._kubeconfig)) as api:
                found = ask(api, "GET", kind.path(""))
                for item in found["items"]:
                    self.note(kind, "ADDED", item)
                version = found["metadata"]["resourceVersion"]
                last = False
                while not last:
                    last = self._closing.is_set()
                    for change, item in _changes(api, kind, version):
                        version = item["metadata"]["resourceVersion"]
                        if change != "BOOKMARK":
                            self.note(kind, change, item)
        except BaseException as error:  # noqa: BLE001 - it is raised where the audit is closed
            self.failure = error


def _taken(node: Json, pools: dict[str, Json], nodes: dict[str, Json]) -> Iterator[str]:
    name = states.pool_of(node, pools.values())
    if pools[name]["spec"].get("paused"):
        yield f"{node['metadata']['name']}: {TAKEN_WHILE_PAUSED}"
    own = [each for each in nodes.values() if states.pool_of(each, pools.values()) == name]
    away = [each for each in own if annotations_of(each)[DESIRED] != annotations_of(each)[CURRENT]]
    if len(away) > states.most_unavailable(pools[name], len(own)):
        yield f"{name}: {TOO_MANY}"


def _changes(api: client.ApiClient, kind: Kind, version: str) -> Iterator[tuple[str, Json]]:
    settings = api.configuration
    headers = {each["key"]: each["value"] for each in settings.auth_settings().values()}
    query = f"watch=1&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds={_SECONDS}"
    url = f"{settings.host}{kind.path('')}?{query}"
    try:
        answer = api.rest_client.pool_manager.request("GET", url, headers=headers, preload_content=False)
        try:
            rest = b""
            for part in answer.stream():
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    change = json.loads(line)
                    if change["type"] == "ERROR":
                        raise RuntimeError(f"a watch has lost its place: {change['object']}")
                    yield change["type"], change["object"]
        finally:
            answer.release_conn()
    except urllib3.exceptions.HTTPError:
        RealClock().sleep(_SECONDS)
