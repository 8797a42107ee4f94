"""One member more for the time of an upgrade: it is made once and goes without a trace, also after a kill."""

from __future__ import annotations

import contextlib
import json
from datetime import timedelta
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, refused
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import (
    extra_member,
    pod_roll,
    shard_allocation,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.pools import pool_image
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.extra import MARK
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

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


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Room:
    return Room(monkeypatch)


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def actions(result: Json) -> list[str]:
    return [each["action"] for each in result["actions"]]


def test_the_member_joins_on_the_new_version_and_goes_without_a_trace(room: Room) -> None:
    made = room.run()
    assert (codes(made), made["changed"], made["member"]) == ([], True, EXTRA)
    assert "added_member" in actions(made)
    nodes = {each["name"]: each["version"] for each in room.ask("GET", "/_nodes")["nodes"].values()}
    assert nodes[EXTRA] == TO
    assert {version for name, version in nodes.items() if name != EXTRA} == {FROM}, "no other pod was replaced"
    again = room.run()
    assert (codes(again), again["changed"]) == ([], False)
    gone = room.run("absent")
    assert (codes(gone), gone["changed"]) == ([], True)
    assert [each for each in actions(gone) if each in ("removed_member", "deleted_claim", "unmarked")] == [
        "removed_member",
        "deleted_claim",
        "unmarked",
    ]
    assert room.left() == NOTHING
    assert not room.run("absent")["changed"]


def test_shards_on_the_member_move_away_before_it_goes(room: Room) -> None:
    room.run()
    # A replica of a primary on the new version starts only on members of that version.
    for name in ("opensearch-data-0", "opensearch-data-1"):
        room.kubernetes.ask("DELETE", f"/api/v1/namespaces/{HERE}/pods/{name}")
        room.clock.advance(60.0)
        assert room.kubernetes.until(lambda: room.health() == "green")
    room.ask("PUT", "/more", {"settings": {"number_of_shards": 6, "number_of_replicas": 1}})
    assert room.kubernetes.until(lambda: room.health() == "green")
    assert EXTRA in room.holders("more")
    gone = room.run("absent")
    assert codes(gone) == []
    assert room.left() == NOTHING


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_run_that_is_killed_at_any_act_leaves_nothing_that_the_next_one_does_not_find(
    monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    whole = Room(monkeypatch)
    if state == "absent":
        whole.run()
    before = whole.writes
    whole.run(state)
    acts = whole.writes - before
    assert acts >= 4
    for act in range(acts):
        room = Room(monkeypatch)
        if state == "absent":
            room.run()
        room.kill_at = room.writes + act
        with contextlib.suppress(Killed):
            room.run(state)
        room.kill_at = None
        if state == "present":
            made = room.run(run="day")
            assert (act, codes(made), room.names(PODS).count(EXTRA)) == (act, [], 1)
            assert room.pool()["spec"]["replicas"] == 3, "it is made once"
        room.settle("dusk")
        assert (act, codes(room.run("absent", run="dusk"))) == (act, [])
        assert (act, room.left()) == (act, NOTHING)


def test_check_mode_changes_nothing(room: Room) -> None:
    before = room.writes
    planned = room.run(check_mode=True)
    assert (codes(planned), planned["changed"], room.writes) == ([], True, before)
    assert room.left() == NOTHING
    room.run()
    before = room.writes
    assert room.run("absent", check_mode=True)["changed"]
    assert room.writes == before


def test_all_that_stands_in_the_way_is_named_at_once_and_nothing_is_touched(room: Room) -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"data-{EXTRA}"}}
    room.api.put_there(
        f"/api/v1/namespaces/{HERE}/persistentvolumeclaims/data-{EXTRA}",
        {**claim, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
    )
    before = room.writes
    assert codes(room.run("planned")) == ["extra_member_claim_there"]
    assert codes(room.run()) == ["extra_member_claim_there"]
    voting = room.run("planned", pool="opensearch-managers")
    assert codes(voting) == ["extra_member_votes"]
    assert room.writes == before
    assert room.pool()["spec"]["replicas"] == 2


def test_rights_that_its_removal_needs_are_named_in_the_plan(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def denied(_client: Any, namespace: str, rights: Any) -> Verdict:
        assert namespace == HERE
        asked.extend((right.verb, right.resource) for right in rights)
        return Verdict((refused("kubernetes_rights", "It may not delete persistentvolumeclaims.", "Allow it."),))

    monkeypatch.setattr(extra_member, "missing_rights", denied)
    before = room.writes
    assert codes(room.run("planned")) == ["kubernetes_rights"]
    assert asked == [("get", "persistentvolumeclaims"), ("delete", "persistentvolumeclaims")]
    assert room.writes == before


def test_a_member_that_does_not_come_up_is_told_and_removed(room: Room) -> None:
    room.kubernetes.faults.crash_loop(HERE, EXTRA)
    failed = room.run()
    assert failed["verdict"]["state"] == "refused"
    assert EXTRA in failed["msg"]
    assert codes(room.run("absent")) == []
    assert room.left() == NOTHING


def test_a_single_pass_waits_until_its_time_is_over(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.kubernetes.faults.never_ready(HERE, EXTRA)
    first = room.run(wait=False)
    assert first["verdict"]["state"] == "waiting"
    later = utc_now() + timedelta(seconds=121)
    monkeypatch.setattr(extra_member, "utc_now", lambda: later)
    assert room.run(wait=False, run="day")["verdict"]["state"] == "refused"


def test_a_number_of_replicas_that_another_has_changed_is_left_alone(room: Room) -> None:
    room.run()
    room.kubernetes.apply([{**_only_replicas(room.pool(), 4)}])
    assert codes(room.run()) == ["extra_member_changed_by_another"]
    left = room.run("absent")
    assert (codes(left), left["verdict"]["state"]) == (["extra_member_changed_by_another"], "passed")
    assert room.pool()["spec"]["replicas"] == 4
    assert not room.run("absent")["changed"]


@pytest.mark.parametrize("older", [False, True])
def test_the_member_of_another_cluster_of_the_namespace_is_left_alone(
    room: Room, monkeypatch: pytest.MonkeyPatch, older: bool
) -> None:
    """It may be that of a run which has failed and will continue, so nobody holds its lock."""
    room.run()
    room.ask("PUT", "/more", {"settings": {"number_of_shards": 6, "number_of_replicas": 0}})
    assert room.kubernetes.until(lambda: room.health() == "green")
    if older:
        annotations = room.pool()["metadata"]["annotations"]
        mark = json.loads(annotations[MARK])
        mark.pop("cluster", None)
        annotations[MARK] = json.dumps(mark)
        room.kubernetes.server.store.put(
            STATEFUL_SETS, {**room.pool(), "metadata": {**room.pool()["metadata"], "annotations": annotations}}
        )
    before = room.left()
    with monkeypatch.context() as of_another:
        of_another.setattr(extra_member, "connect", lambda *_options: Servers())
        settled = room.run("absent", run="of another cluster")
    assert (codes(settled), settled["changed"]) == ([], False)
    assert room.left() == before
    # Its own cluster takes it away, once no shard is there that only the new version can hold.
    room.ask("DELETE", "/more")
    assert codes(room.run("absent")) == []
    assert room.left() == NOTHING


def _only_replicas(pool: Json, replicas: int) -> Json:
    keep = {"name": pool["metadata"]["name"], "namespace": pool["metadata"]["namespace"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": keep,
        "spec": {**pool["spec"], "replicas": replicas},
    }


def only_there(room: Room) -> None:
    """Makes the member, with shards of which it has the only copy."""
    room.run()
    room.ask("PUT", "/only", {"settings": {"number_of_shards": 6, "number_of_replicas": 0}})
    assert room.kubernetes.until(lambda: room.health() == "green")
    assert EXTRA in room.holders("only")


def test_its_volumes_stay_if_another_has_removed_it_with_the_only_copy_of_a_shard(room: Room) -> None:
    """GitOps may put the number in its repository back, whatever the member holds."""
    only_there(room)
    room.kubernetes.apply([{**_only_replicas(room.pool(), 2)}])
    early = room.run("absent", wait_timeout=5)
    room.clock.advance(60.0)
    late = room.run("absent", wait_timeout=5)
    for left in (early, late):
        assert (left["verdict"]["state"], left["changed"]) == ("refused", False)
        assert "extra_member_last_copy" in codes(left)
    kept = room.left()
    assert (kept["claims"], kept["mark"], kept["pods"]) == ([f"data-{EXTRA}"], True, [])
    # With its replica the member is back, and all that it holds.
    room.kubernetes.apply([{**_only_replicas(room.pool(), 3)}])
    assert room.kubernetes.until(lambda: room.health() == "green")
    room.ask("DELETE", "/only")
    assert codes(room.run("absent")) == []
    assert room.left() == NOTHING


def test_it_stays_if_it_is_not_in_the_cluster_and_has_the_only_copy_of_a_shard(room: Room) -> None:
    only_there(room)
    room.kubernetes.faults.crash_loop(HERE, EXTRA)
    room.kubernetes.ask("DELETE", f"/api/v1/namespaces/{HERE}/pods/{EXTRA}")
    room.clock.advance(60.0)
    left = room.run("absent", wait_timeout=5)
    assert (left["verdict"]["state"], codes(left), left["changed"]) == ("refused", ["extra_member_last_copy"], False)
    kept = room.left()
    assert (kept["claims"], kept["mark"], kept["replicas"]) == ([f"data-{EXTRA}"], True, 3)
    assert codes(room.run("absent", allow_red_indices=["only"])) == []
    given_up = room.left()
    assert (given_up["claims"], given_up["mark"], given_up["replicas"]) == ([], False, 2)
