"""A whole Kubernetes in memory with a cluster, a pool of which may have one member more."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import (
    extra_member,
    pod_roll,
    shard_allocation,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.pools import pool_image
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.extra import MARK

from tests.lab.opensearch.layouts import Layout, Pool
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.cluster import NODES, TOKENS, Kubernetes
from tests.sandbox.kubernetes.in_process import InProcess
from tests.sandbox.kubernetes.kinds import CLAIMS, PODS, STATEFUL_SETS
from tests.sandbox.kubernetes.kubelet.behaviour import Behaviour
from tests.sandbox.members import Members, pull_error
from tests.sandbox.opensearch.client import client_of
from tests.sandbox.opensearch.cluster import Cluster
from tests.sandbox.opensearch.model import Durations
from tests.sandbox.web import Answer, CutOff, Pending, Request, answered

Json = dict[str, Any]
HERE, POOL, EXTRA = "search", "opensearch-data", "opensearch-data-2"
POOLS = (Pool("managers", 3, ("cluster_manager",)), Pool("data", 2, ("data",)))
FROM, TO = "2.19.6", "3.8.0"


def lock_of(run: str) -> Json:
    """The lock of a run."""
    return {"run": run, "name": "lock", "kept_in": "kubernetes", "namespace": HERE, "lease_duration": 60}


class Killed(BaseException):
    """The run is gone, at this very instruction."""


class Room:
    """A whole Kubernetes in memory with a cluster of five members, and the module in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = Clock()
        self.members = Members(self.clock, NODES.__getitem__, lambda _namespace, pod: pod, Durations(boot=2.0))
        members = self.members
        self.kubernetes = Kubernetes(
            self.clock,
            Behaviour(
                pull_error=pull_error,
                started=members.started,
                stopping=members.stopping,
                stopped=members.stopped,
                ready=members.ready,
                log=members.log,
            ),
        )
        self.api = InProcess(self.kubernetes.server, TOKENS["admin"])
        self.kubernetes.apply(Layout(HERE, FROM, POOLS, lambda _namespace, pod: pod).manifests())
        self.writes = 0
        self.kill_at: int | None = None
        assert self.kubernetes.until(lambda: self.health() == "green")
        self.ask("PUT", "/logs", {"settings": {"number_of_shards": 2, "number_of_replicas": 1}})
        assert self.kubernetes.until(lambda: self.health() == "green")
        for room in (extra_member, pod_roll, shard_allocation):
            monkeypatch.setattr(room, "connect", lambda *_options: self._search())
        for module in (kubernetes, pool_image):
            monkeypatch.setattr(module, "connect", lambda _options: self.api.client())
        self._watch_api(monkeypatch)

    @property
    def cluster(self) -> Cluster:
        """The servers behind a manager."""
        pod = self.kubernetes.server.store.get(PODS, HERE, "opensearch-managers-0")
        found = self.members.cluster_of(pod) if pod else None
        assert found is not None
        return found

    def health(self) -> str:
        """The health; empty before there is a cluster."""
        with contextlib.suppress(AssertionError, CutOff):
            answer = self.ask("GET", "/_cluster/health")
            return str(answer.get("status") or "") if answer.get("number_of_nodes", 0) >= 5 else ""
        return ""

    def ask(self, method: str, path: str, body: Any = None) -> Json:
        """The body of the cluster's answer."""
        return dict(answered(self._answer, Request(method, path, {}, body, {}), self.clock).body)

    def _answer(self, request: Request) -> Answer | Pending:
        return self.cluster.handler("opensearch-managers-0")(request)

    def _search(self) -> Any:
        return client_of(self._answer, self.clock, self._count_search)

    def _count_search(self, request: Request) -> None:
        # Explanations are asked with POST.
        if request.method in {"PUT", "DELETE"}:
            self._count()

    def _watch_api(self, monkeypatch: pytest.MonkeyPatch) -> None:
        answer = self.api.answer

        def watched(request: Request) -> Answer:
            if request.method == "GET" or "dryRun" in request.query or "selfsubject" in request.path:
                return answer(request)
            self._count()
            done = answer(request)
            self._count()
            return done

        monkeypatch.setattr(self.api, "answer", watched)

    def _count(self) -> None:
        if self.kill_at == self.writes:
            raise Killed
        self.writes += 1

    def run(self, state: str = "present", run: str = "night", check_mode: bool = False, **params: Any) -> Json:
        """One task of the module."""
        own: Json = {"namespace": HERE, "state": state, "wait_timeout": 120}
        if state != "absent":
            own |= {"pool": POOL, "image": f"opensearch:{TO}", "container": "opensearch", "target_version": TO}
        given = {**extra_member.CONTRACT.arguments({}), **own, "lock": lock_of(run), **params}
        return perform(extra_member.run, Task(params=given, clock=self.clock, check_mode=check_mode))

    def settle(self, run: str) -> None:
        """Puts allocation back, as every run does when it starts."""
        given = {**shard_allocation.CONTRACT.arguments({}), "state": "restored", "lock": lock_of(run)}
        result = perform(shard_allocation.run, Task(params=given, clock=self.clock))
        assert codes(result) == []

    def holders(self, index: str) -> set[str]:
        """The members that hold a copy of a shard of the index."""
        state = self.ask("GET", "/_cluster/state")
        shards = state["routing_table"]["indices"][index]["shards"].values()
        return {state["nodes"][copy["node"]]["name"] for copies in shards for copy in copies if copy["node"]}

    def pool(self) -> Json:
        """The StatefulSet."""
        found = self.kubernetes.server.store.get(STATEFUL_SETS, HERE, POOL)
        assert found is not None
        return found

    def names(self, kind: Any) -> list[str]:
        """The names of all objects of a kind."""
        return sorted(each["metadata"]["name"] for each in self.kubernetes.server.store.each(kind, HERE))

    def left(self) -> Json:
        """All that a run could leave behind, once the controllers have done their part."""
        self.clock.advance(2.0)
        settings = self.ask("GET", "/_cluster/settings")
        return {
            "replicas": self.pool()["spec"]["replicas"],
            "mark": MARK in self.pool()["metadata"].get("annotations", {}),
            "claims": [each for each in self.names(CLAIMS) if EXTRA in each],
            "pods": [each for each in self.names(PODS) if each == EXTRA],
            "settings": [settings.get("persistent"), settings.get("transient")],
            "health": self.health(),
        }


NOTHING = {"replicas": 2, "mark": False, "claims": [], "pods": [], "settings": [{}, {}], "health": "green"}


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def actions(result: Json) -> list[str]:
    return [each["action"] for each in result["actions"]]


def only_replicas(pool: Json, replicas: int) -> Json:
    keep = {"name": pool["metadata"]["name"], "namespace": pool["metadata"]["namespace"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": keep,
        "spec": {**pool["spec"], "replicas": replicas},
    }
