"""A real OpenSearch cluster on plain hosts: processes on addresses of their own, and the inventory that names them."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.addresses import Range
from tests.lab.opensearch.homes import fetch_home
from tests.lab.opensearch.hosts import Host
from tests.lab.traffic import Target
from tests.lab.waiting import until

ROOT = Path(__file__).parents[3]
ROLE = Path(__file__).with_name("role")
BOOT = 240.0
"""Seconds a cluster may take to be green on a busy machine."""
COMBINED = ("cluster_manager", "data", "ingest")

Layout = Mapping[str, Sequence[tuple[str, ...]]]
"""Group of the inventory → the roles of each of its members."""


@dataclass(frozen=True)
class HostCluster:
    """One cluster. The host `es-<group>-<n>` runs the member `<group>-<n>`."""

    directory: Path
    addresses: Mapping[str, str]
    """Member → address."""
    groups: Mapping[str, Sequence[str]]
    """Group → members."""
    claimed: Range

    @classmethod
    def start(cls, directory: Path, layout: Layout, version: str) -> HostCluster:
        """Start a cluster on one host for each member, and wait until it is green."""
        fetch_home(version)
        claimed = Range.claim([9200, 9300])
        groups = {group: [f"{group}-{n}" for n in range(len(roles))] for group, roles in layout.items()}
        members = [(name, roles) for group in groups for name, roles in zip(groups[group], layout[group], strict=True)]
        addresses = {name: claimed.kubernetes_node(number) for number, (name, _roles) in enumerate(members)}
        cluster = cls(directory, addresses, groups, claimed)
        try:
            cluster.rise(members, version)
        except BaseException:
            cluster.remove()
            raise
        return cluster

    def rise(self, members: Sequence[tuple[str, tuple[str, ...]]], version: str) -> None:
        """Its members with their roles, until it is green."""
        managers = [name for name, roles in members if "cluster_manager" in roles]
        for name, roles in members:
            settings = {
                "cluster.name": "hosts",
                "discovery.seed_hosts": ",".join(self.addresses[manager] for manager in managers),
                "node.roles": ",".join(roles),
            }
            if name in managers:
                settings["cluster.initial_cluster_manager_nodes"] = ",".join(managers)
            host = Host.make(self.directory / name, name, self.addresses[name], settings)
            host.install(version)
            host.start()
        until("The cluster on hosts to be green", self.whole, BOOT)

    def host(self, member: str) -> Host:
        """The host of a member."""
        return Host(self.directory / member)

    @property
    def target(self) -> Target:
        """The target of the traffic: all members."""
        return Target.of_hosts(self.addresses.values())

    @property
    def urls(self) -> list[str]:
        """The REST ports of all members."""
        return [f"http://{address}:9200" for address in self.addresses.values()]

    def inventory(self) -> Path:
        """The inventory as its users write it; the member has another name than the host."""
        of_host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        of_all = {
            **of_host,
            "lab_python": sys.executable,
            "lab_root": str(ROOT),
            "lab_members": len(self.addresses),
        }
        groups = {
            group: {"hosts": {f"es-{name}": self._of_host(name) for name in names}}
            for group, names in self.groups.items()
        }
        path = self.directory / "inventory.json"
        path.write_text(json.dumps({"all": {"children": {"servers": {"children": groups, "vars": of_all}}}}))
        return path

    def _of_host(self, member: str) -> dict[str, Any]:
        """The variables of the host of a member."""
        return {
            "upgrade_member": member,
            "lab_directory": str(self.directory / member),
            "lab_address": self.addresses[member],
        }

    def variables(self, target_version: str, **more: Any) -> dict[str, Any]:
        """The variables of the playbook."""
        return {
            "target_version": target_version,
            "upgrade_groups": list(self.groups),
            "upgrade_member_role": str(ROLE),
            "upgrade_opensearch": {"hosts": self.urls},
            "upgrade_record_path": str(self.directory / "records"),
            **more,
        }

    def ask(self, path: str, method: str = "GET", body: Any = None) -> str:
        """The text of the answer of the first member that answers."""
        data = json.dumps(body).encode() if body is not None else None
        for url in self.urls:
            request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"}, method=method)  # noqa: S310 - the lab's own http address
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
                    return str(answer.read().decode())
            except ConnectionError:
                continue
            except urllib.error.URLError as error:
                if not isinstance(error.reason, ConnectionError):
                    raise
        raise ConnectionRefusedError

    def versions(self) -> dict[str, str]:
        """Member → version, from the members themselves."""
        nodes = json.loads(self.ask("/_nodes/_all/_none"))["nodes"]
        return {node["name"]: node["version"] for node in nodes.values()}

    def whole(self) -> bool:
        """Whether all members are there and the cluster is green."""
        try:
            health = json.loads(self.ask("/_cluster/health"))
        except OSError:
            return False
        return bool(health["status"] == "green" and health["number_of_nodes"] == len(self.addresses))

    def until_green(self) -> None:
        """Wait until all members are there with all copies."""
        until("The cluster to be green", self.whole, BOOT)

    def remove(self) -> None:
        """End all members."""
        for member in self.addresses:
            self.host(member).stop(signal.SIGKILL)
        self.claimed.release()
        shutil.rmtree(self.directory, ignore_errors=True)
