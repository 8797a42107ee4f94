"""The servers of the scenarios: a cluster on plain hosts, one of pods, and a Longhorn in memory.

`python -m tests.molecule.clusters DIRECTORY INVENTORY` is the process that keeps them.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.checks.tree import ROOT
from tests.lab.fixtures import lab_directory
from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.processes import is_alive, record_of
from tests.molecule.servers import HOSTS, OWNER
from tests.sandbox.longhorn.description import Described, Durations, Machine, Volume
from tests.sandbox.longhorn.kinds import NAMESPACE
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.sandbox.longhorn.runs import shipped_rights
from tests.sandbox.sandbox import Sandbox
from tests.scenarios.cluster import RESTART_ROLE, USER, Cluster, bound
from tests.scenarios.hosts.cluster import COMBINED, HostCluster

ORIGIN = "2.19.6"
ORIGIN_OF_PODS = "2.11.1"
"""Older, since the fleet upgrades them first."""
MEMBERS = 3
PLACES = ("node-a1", "node-b1", "node-c1")
OWNER_CHECK = 0.5
FACTOR = 5.0
"""The seconds of Longhorn that pass in one real second."""

Reached = dict[str, Any]
"""Variables and groups of the inventory."""


@contextmanager
def clusters(place: Path) -> Iterator[Reached]:
    """All of them, started side by side, the plain hosts below `place`; gives the inventory that reaches them."""
    with ThreadPoolExecutor() as pool:
        starting = pool.submit(HostCluster.start, place, {"search": [COMBINED] * MEMBERS}, ORIGIN)
        try:
            with pods() as of_pods, longhorn() as of_longhorn:
                search = group(starting.result())
                yield {"children": {"search": search}, "vars": {"pods": of_pods, "longhorn": of_longhorn}}
        finally:
            starting.result().remove()


def group(cluster: HostCluster) -> Reached:
    """The group of the inventory with the hosts of a cluster; a member has another name than its host."""
    hosts = {
        f"host-of-{member}": {
            "upgrade_member": member,
            "member_directory": str(cluster.directory / member),
            "member_url": f"http://{address}:9200",
        }
        for member, address in cluster.addresses.items()
    }
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    return {"hosts": hosts, "vars": {**local, "checkout": str(ROOT)}}


@contextmanager
def pods() -> Iterator[Reached]:
    """Real members as pods of StatefulSets, on a Kubernetes API in memory; gives how the playbooks reach them."""
    with Lab.up("molecule", lab_directory(), in_memory=True) as lab:
        cluster = Cluster.start(lab, "search", three_combined, ORIGIN_OF_PODS)
        lab.apply(bound(RESTART_ROLE, "search"))
        yield {
            "namespace": cluster.namespace,
            "kubeconfig": str(lab.kubeconfig(USER)),
            "admin_kubeconfig": str(lab.kubeconfig()),
            "url": cluster.url,
        }


@contextmanager
def longhorn() -> Iterator[Reached]:
    """A Longhorn whose API and controllers are in memory; there is no data engine. Gives how the playbooks reach it."""
    volumes = tuple(Volume(f"volume-{node}", PLACES, node) for node in PLACES)
    with Sandbox(FACTOR) as sandbox:
        with sandbox.listening.lock:
            machines = tuple(Machine(each) for each in PLACES)
            described = Described(machines, volumes, frontends_outlive=True)
            Longhorn(described, sandbox.kubernetes, Durations(rebuild=2.0, disk=0.5))
            sandbox.kubernetes.apply(shipped_rights(USER))
        yield {
            "namespace": NAMESPACE,
            "kubeconfig": str(sandbox.kubeconfig(USER)),
            "admin_kubeconfig": str(sandbox.kubeconfig()),
        }


def keep(directory: Path, inventory: Path) -> None:
    """Be the process that keeps the servers."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    owner = record_of("owner", int(os.environ[OWNER])) if os.environ.get(OWNER) else None
    place = lab_directory()
    (directory / HOSTS).write_text(str(place), encoding="utf-8")
    with clusters(place) as reached:
        written = inventory.with_suffix(".new")
        written.write_text(json.dumps({"all": reached}, indent=1), encoding="utf-8")
        written.rename(inventory)
        while not stopping.wait(OWNER_CHECK) and (owner is None or is_alive(owner)):
            pass


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]))
