"""A namespace and the cluster in it, in memory, for the tests of plans of pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import both_sides, pool_order
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import Settings
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState
from ansible_collections.stateful.upgrade.plugins.module_utils.restart import restart_plan
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pod_json, pool_json
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    coordination,
    copy,
    index_metadata,
    info,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import World

from tests.sandbox.kubernetes.in_process import InProcess

OLD, NEW = "2.19.6", "3.8.0"
PODS, SETS = "/api/v1/namespaces/search/pods", "/apis/apps/v1/namespaces/search/statefulsets"
BUDGETS = "/apis/policy/v1/namespaces/search/poddisruptionbudgets"
ROLES: Mapping[str, Sequence[str]] = {"data": ("data",), "managers": ("cluster_manager",), "clients": ()}
SHARED = (copy("logs", "data-0", primary=True), copy("logs", "data-1"))
Said = list[tuple[str, str]]


@dataclass
class Room:
    """A namespace, and the cluster in it: data-0 and data-1, three managers, one that only coordinates."""

    versions: dict[str, str] = field(default_factory=dict)
    copies: Sequence[Json] = SHARED
    created: int = 136408427
    voters: Sequence[str] = ()
    """The members that vote; none given stands for all managers."""
    expands: str = ""
    """`auto_expand_replicas` of the index logs."""
    addresses: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    """The persistent settings of the cluster, as a restart reads them."""
    api: InProcess = field(default_factory=InProcess)
    clock: World = field(default_factory=World)

    def __post_init__(self) -> None:
        """All pods are Ready, on the image that their set has."""
        for name, replicas in (("data", 2), ("managers", 3), ("clients", 1)):
            self.add(name, replicas)

    def add(self, name: str, replicas: int, *, version: str = OLD, **changes: Any) -> None:
        """Add a set with its pods, all in the cluster."""
        container: Json = {"name": "server", "image": f"opensearch:{version}", "readinessProbe": {}}
        container.update(changes.pop("container", {"readinessProbe": {"tcpSocket": {"port": 9200}}}))
        container["volumeMounts"] = [{"name": "data", "mountPath": "/usr/share/opensearch/data"}]
        volumes = [{"name": "data", **changes.pop("volume", {"hostPath": {"path": "/data"}})}]
        template = {"spec": {"containers": [container], "volumes": volumes}}
        made = pool_json(name, replicas=replicas, template=template, **changes)
        self.api.put_there(f"{SETS}/{name}", made)
        for number in range(replicas):
            self.pod(f"{name}-{number}", version)

    def pod(self, name: str, version: str | None, **changes: Any) -> None:
        """Add a pod, and its member to the cluster if a version is given."""
        made = pod_json(name, f"uid-of-{name}", labels={"app": name.rpartition("-")[0]}, **changes)
        made["status"]["podIP"] = self.addresses.setdefault(name, f"10.0.0.{len(self.addresses)}")
        made["spec"]["containers"] = [{"name": "server", "image": f"opensearch:{version or OLD}"}]
        self.api.put_there(f"{PODS}/{name}", made)
        if version is None:
            self.versions.pop(name, None)
        else:
            self.versions[name] = version

    def out(self, name: str) -> None:
        """Add a pod that is Ready and no member, such as one that is not let in."""
        self.pod(name, None)

    @property
    def state(self) -> ClusterState:
        members = {
            name: {
                **info(name, version, ROLES.get(name.rpartition("-")[0], ("data",))),
                "ip": self.addresses.get(name, "10.9.9.9"),
            }
            for name, version in self.versions.items()
        }
        managers = [name for name in members if name.startswith("managers")]
        indices = {"closed": {**index_metadata(self.created), "state": "close"}}
        if self.expands:
            indices["logs"] = index_metadata(auto_expand_replicas=self.expands)
        elected = next(iter(managers), None)
        return cluster(
            members, self.copies, elected=elected, voting=coordination(self.voters or managers), indices=indices
        )

    def plan(self, target: str = NEW, **params: Any) -> Json:
        spec = pool_order.CONTRACT.argument_spec
        given = {name: option.get("default") for name, option in spec.items()}
        own = {"target_version": target, "namespace": "search", "opensearch": {}, "kubernetes": {}}
        return perform(pool_order.run, Task({**given, **own, **params}, clock=self.clock))


def furnished(monkeypatch: pytest.MonkeyPatch) -> Room:
    """The room in the place of both APIs."""
    made = Room()
    monkeypatch.setattr(kubernetes, "connect", lambda _options: made.api.client())
    monkeypatch.setattr(restart_plan, "settings_of", lambda _task: Settings(made.settings, {}))
    monkeypatch.setattr(both_sides, "missing_rights", lambda *_asked: Verdict())
    monkeypatch.setattr(both_sides, "connect", lambda *_options: None)
    monkeypatch.setattr(both_sides, "observe", lambda _client: made.state)
    monkeypatch.setattr(both_sides, "observe_data_paths", lambda _client: dict.fromkeys(made.versions, ()))
    return made


def said(result: Mapping[str, Any]) -> Said:
    """Codes and states, but for the lone coordinating member's."""
    reasons = result["verdict"]["reasons"]
    return [(one["code"], one["state"]) for one in reasons if one["code"] != "role_unserved"]


def message(result: Mapping[str, Any], code: str) -> str:
    return next(str(one["message"]) for one in result["verdict"]["reasons"] if one["code"] == code)


def order_of(result: Mapping[str, Any]) -> list[str]:
    return [name for batch in result["batches"] for name in batch["members"]]
