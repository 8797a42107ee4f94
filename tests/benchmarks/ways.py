"""The ways to upgrade a cluster that the benchmark compares.

A way is prepared outside the clock and gives the work that is timed. The work raises LabError when it fails.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks.pools import Pools
from tests.benchmarks.rest import poll
from tests.lab.errors import LabError
from tests.lab.kubelet.limits import millicores
from tests.lab.opensearch.image import ARCHIVE, NO_ARCHIVE
from tests.lab_command import environment
from tests.scenarios.cluster import Cluster, Layout
from tests.scenarios.playbook import PLAYBOOK, confirmed, play

Work = Callable[[], None]
LOG = "ansible.log"


@dataclass(frozen=True)
class Way:
    """One way: its name in tables, the clusters it is used on, and how its work is had."""

    title: str
    prepare: Callable[[Cluster, str, Path], Work]
    """From the cluster, the version and a folder for its traces."""
    layout: Callable[[Layout], Layout] = lambda layout: layout


def with_tcp_probe(layout: Layout) -> Layout:
    """The layout with pods that are Ready as soon as the REST port is open."""

    def change(container: dict[str, Any]) -> None:
        probe = container["readinessProbe"]
        probe["tcpSocket"] = {"port": probe.pop("httpGet")["port"]}

    return _with_containers(layout, change)


def with_cpu_limit(layout: Layout, limit: str) -> Layout:
    """The layout with members that compute at this pace at most; none may request more than it may take."""

    def change(container: dict[str, Any]) -> None:
        resources = container["resources"]
        resources["requests"]["cpu"] = min(resources["requests"]["cpu"], limit, key=millicores)
        resources["limits"] = {"cpu": limit}

    return _with_containers(layout, change)


def without_archive(layout: Layout) -> Layout:
    """The layout with members that start as servers do elsewhere: the lab's own class archive halves their start."""

    def change(container: dict[str, Any]) -> None:
        container["env"].append({"name": ARCHIVE, "value": NO_ARCHIVE})

    return _with_containers(layout, change)


def _with_containers(layout: Layout, change: Callable[[dict[str, Any]], None]) -> Layout:
    """The layout with the containers of all members changed."""

    def changed(*arguments: Any, **options: Any) -> list[dict[str, Any]]:
        manifests = layout(*arguments, **options)
        for manifest in manifests:
            if manifest["kind"] == "StatefulSet":
                for container in manifest["spec"]["template"]["spec"]["containers"]:
                    change(container)
        return manifests

    return changed


def plain(cluster: Cluster, version: str, _directory: Path) -> Work:
    """The image is changed, and Kubernetes does the rest; one pool after the other."""

    def work() -> None:
        with Pools.of(str(cluster.platform.kubeconfig()), cluster.namespace) as pools:
            for pool in pools.names():
                pools.change(pool, "RollingUpdate", version)
                poll(f"Pool {pool} to be rolled out", lambda pool=pool: pools.rolled_out(pool))  # type: ignore[misc]

    return work


def script(cluster: Cluster, version: str, directory: Path) -> Work:
    """The procedure of the documentation, in a process of its own like every script that a person starts."""
    command = [sys.executable, "-m", "tests.benchmarks.procedure"]
    arguments = [str(cluster.platform.kubeconfig()), cluster.namespace, cluster.url, version]

    def work() -> None:
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LabError(f"The script ended with exit code {done.returncode}: {done.stderr.strip()}")

    return work


def collection(cluster: Cluster, version: str, directory: Path, **inputs: str) -> Work:
    """The playbook, with consent given beforehand to the plan that it will make."""
    surroundings = environment()
    variables = confirmed(cluster.variables(version, **inputs), surroundings)

    def work() -> None:
        played = play(PLAYBOOK, variables, {**surroundings, "ANSIBLE_LOG_PATH": str(directory / LOG)})
        if played.code != 0:
            print(played.output)
            raise LabError(f"The playbook ended with exit code {played.code}: {played.message or 'see above'}")

    return work


WAYS = {
    "plain": Way("plain RollingUpdate", plain, with_tcp_probe),
    "script": Way("tight script", script),
    "collection": Way("this collection", collection),
    "together": Way("it, in batches", partial(collection, upgrade_batching="disjoint")),
}
