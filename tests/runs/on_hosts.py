"""Clusters in memory whose members are services on hosts of an inventory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import urllib3

from tests.lab.opensearch.layouts import OPENSEARCH, Pool, Product
from tests.lab.waiting import until
from tests.runs.calling import CalledPort
from tests.runs.over_ssh import SSH, over_ssh
from tests.runs.world import CalledCluster, World
from tests.sandbox.opensearch.cluster import Cluster as Servers
from tests.sandbox.opensearch.image import QUIET
from tests.sandbox.opensearch.model import MemberSpec
from tests.sandbox.plain_hosts.host import PlainHost
from tests.sandbox.plain_hosts.service import Service
from tests.sandbox.web import Answer, Handler, Pending, Request
from tests.scenarios.cluster import BOOT

PLAYBOOK_OF_HOSTS = "stateful.upgrade.opensearch_hosts"
CHECK = "--check"
"""The argument with which the playbook shows its plan: the playbook `plan` is not for hosts (docs/plain-hosts.md)."""
REST = 9200
ZONES = "abc"
AWARENESS = "cluster.routing.allocation.awareness.attributes"
CLUSTER = "search"
Pools = tuple[Pool, ...]


@dataclass(frozen=True)
class ClusterOnHosts(CalledCluster):
    """A cluster of which each pool is a group of the inventory; the host `h-<member>` runs the member."""

    name: str = CLUSTER
    servers: Any = None
    groups: Mapping[str, list[str]] = field(default_factory=dict)
    """The members by group."""
    hosts: Mapping[str, PlainHost] = field(default_factory=dict)
    """By member."""
    doors: Mapping[str, CalledPort] = field(default_factory=dict)
    """The ports of the hosts to which their controller connects, by member."""
    folder: Path = Path()
    product: Product = OPENSEARCH

    @property
    def address(self) -> str:
        """See `Cluster`: it is that of a balancer before all members."""
        return f"balancer.{self.name}:{REST}"

    @property
    def arguments(self) -> tuple[str, str]:
        """The arguments of ansible-playbook, which name the inventory as its users write it."""
        groups = {
            group: {"hosts": {f"h-{name}": self._of(name) for name in names}} for group, names in self.groups.items()
        }
        path = self.folder / "inventory.json"
        path.write_text(json.dumps({"all": {"children": groups}}), encoding="utf-8")
        return "-i", str(path)

    def _of(self, member: str) -> dict[str, str]:
        return {"upgrade_member": member, "ansible_host": self.doors[member].host}

    @property
    def records(self) -> Path:
        """The folder of the records."""
        return self.folder / "records"

    def variables(self, target_version: str, user: str = "", **more: Any) -> dict[str, Any]:
        """See `Cluster`."""
        urls = [f"http://{door.host}:{REST}" for door in self.doors.values()]
        name = self.product.name
        return {
            "target_version": target_version,
            "upgrade_groups": [*self.groups],
            "upgrade_member_role": "stateful.upgrade.member_package",
            "member_package_name": name,
            "member_package_service": name,
            "upgrade_opensearch": {"hosts": urls},
            "upgrade_record_path": str(self.records),
            **more,
        }

    def fingerprint(self) -> Any:
        """See `Cluster`: each process, the package of each host, and the settings."""
        processes = {name: member.ephemeral_id for name, member in self.servers.members.items()}
        packages = {name: host.service.installed for name, host in self.hosts.items()}
        return processes, packages, self.ask("/_cluster/settings")

    def _whole(self) -> bool:
        try:
            health = self.health()
        except (OSError, urllib3.exceptions.HTTPError):
            return False
        return bool(health["status"] == "green" and health["number_of_nodes"] == len(self.hosts))


@contextmanager
def cluster_on_hosts(
    here: World, version: str, pools: Pools, product: Product = OPENSEARCH, *, restarts: bool = False
) -> Iterator[ClusterOnHosts]:
    """A cluster that is green; until the block ends, runs reach its hosts. `restarts` is `Restart=on-failure`."""
    clock = here.calling.clock
    servers = Servers(clock, CLUSTER, here.sandbox.members.durations)
    groups = {f"{CLUSTER}-{pool.name}": pool.pods(CLUSTER) for pool in pools}
    founders = tuple(name for pool in pools if pool.manages for name in pool.pods(CLUSTER))
    hosts, doors = dict[str, PlainHost](), dict[str, CalledPort]()
    for pool in pools:
        for number, name in enumerate(pool.pods(CLUSTER)):
            roles = tuple(product.manager_role if role == "cluster_manager" else role for role in pool.roles)
            spec = MemberSpec(
                name,
                version,
                f"10.1.0.{len(hosts) + 1}",
                f"data of {name}",
                roles=roles,
                attributes={"zone": ZONES[number % len(ZONES)]},
                settings={**QUIET, AWARENESS: "zone"},
                initial_managers=founders,
            )
            hosts[name] = PlainHost(product.name, Service(clock, servers, spec, restarts=restarts))
            doors[name] = here.calling.serve(hosts[name], spec.address, SSH)
            here.calling.serve(_door_of(servers, name), spec.address, REST)
    with TemporaryDirectory(prefix="hosts-") as folder, over_ssh(here.calling):
        cluster = ClusterOnHosts(
            here.sandbox,
            "",
            servers=servers,
            groups=groups,
            hosts=hosts,
            doors=doors,
            folder=Path(folder),
            product=product,
        )
        here.calling.serve(_door_of(servers, ""), f"balancer.{CLUSTER}", REST)
        for host in hosts.values():
            host.service.start()
        until("The cluster on hosts to be green", cluster._whole, BOOT)
        yield cluster


def _door_of(servers: Servers, member: str) -> Handler:
    """The REST port of a member, or of a balancer; nothing listens there while no process has opened it."""
    handler = servers.handler(member)

    def answer(request: Request) -> Answer | Pending:
        if not any(servers.ready(name) for name in ([member] if member else servers.members)):
            raise ConnectionRefusedError
        return handler(request)

    return answer
