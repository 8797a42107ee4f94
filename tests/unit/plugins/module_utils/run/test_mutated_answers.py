"""Answers with one edit, by the thousand: none ends as a bug, and none makes a proof pass that was refused.

Whether an edited answer still describes a cluster in which the batch may go is judged by an oracle of its own, on the
raw JSON: it counts a copy only where every field says, without doubt, that it serves on a member outside the batch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import list_budgets, list_events, pod
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.port_forward import PortForward, named_port
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.stateful_sets import stateful_set
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act.cluster_lock import (
    NAME,
    STOP,
    ClusterLock,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act.flush import flush
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.changes import removals, split_ours
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.drain import judge_room
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import prove
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.answers import reading
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import OpenSearchClient
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import (
    observe_disks,
    observe_recoveries,
    observe_tasks,
    observe_voting,
    parse_state,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.data_paths import parse_data_paths
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.explanation import (
    parse_explanation,
    parse_move,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import (
    UNDO,
    Settings,
    carried_undo,
    parse_settings,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import parse_health
from ansible_collections.stateful.upgrade.plugins.module_utils.pools import pool_changes
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lease import lock_of
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batches import PoolRecord
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import RecordedEvent
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_reading import parse_record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_store import kept_in
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Change, Undo, Writer
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo_annotation import UNDO as UNDO_ANNOTATION
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes import objects
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import Json, recorded
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.mutations import mutations
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import AT, batch_of, record_of

EACH = 3000
"""Edits of each answer: some 3,000 in all."""
REMARKED = ("flush", "recoveries")
"""Answers that no verdict rests on: one that cannot be read is a remark, or counts as unknown."""
RECORDED = ("green-2.19.6", "left-2.19.6", "mixed-2.19.6-3.8.0", "moving-3.8.0", "upgraded-3.8.0")
Read = Callable[[Any], Any]


def _search(**answers: Json) -> OpenSearchClient:
    class Given(Servers):
        def _answer(self, method: str, path: str, body: Any) -> Json:
            return next(answer for part, answer in answers.items() if part in path)

    return cast(OpenSearchClient, Given())


class _Listed:
    """A namespace in which only these are."""

    def __init__(self, *items: Json, got: Any = None) -> None:
        self.items, self.got = items, got

    def get(self, _path: str) -> Any:
        return self.got

    def list(self, _path: str, *_selector: Any, **_selectors: Any) -> Any:
        return self.items


def _opensearch(parse: Read) -> Read:
    def read(answer: Any) -> Any:
        with reading("GET /"):
            return parse(answer)

    return read


def _carried(kept: Any) -> Any:
    """The judgement of an undo of any shape, next to settings as they are."""
    settings = Settings({UNDO: kept if isinstance(kept, str) else json.dumps(kept)}, {})
    undo = carried_undo(settings)
    return undo and (split_ours(undo, settings), undo.text())


def _carried_strategy(kept: Any) -> Any:
    """The judgement of a pool's undo of any shape."""
    text = kept if isinstance(kept, str) else json.dumps(kept)
    seen = objects.pool(annotations={UNDO_ANNOTATION: text})
    undo = pool_changes.carried_undo(seen)
    return undo and (pool_changes.holds(undo, seen), pool_changes.patch_back(seen, undo))


def _forwarded(service: Any) -> Any:
    """The labels and the port behind a Service."""
    forward = PortForward(
        cast(Any, _Listed(got=service)), {"namespace": "search", "service": "opensearch", "port": 9200}
    )
    return forward._behind_service(9200)


def _recorded(kept: Any) -> Json:
    """The result for a record of any shape."""
    item = kept_in({"metadata": {"name": "lock"}, "data": {"record.json": json.dumps(kept)}})
    return parse_record(item.text, item.where).as_result()


UNDONE = Undo(
    Writer("night", "2026-11-21T02:00:00Z"),
    (Change(("persistent", "cluster.routing.allocation.enable"), None, "primaries"),),
    {"cluster": "uuid", "voting_exclusions": ["a"]},
)
UNDONE_STRATEGY = Undo(
    Writer("night", "2026-11-21T02:00:00Z", {"kept_in": "kubernetes", "namespace": "search", "name": "lock"}),
    (
        Change(
            pool_changes.STRATEGY,
            {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}},
            {"type": "OnDelete"},
        ),
    ),
)
TOOK: Json = {"name": "data-0", "total_seconds": 3.5}
BATCH = batch_of("data-0", state="done", run="night", started=AT, ended="2026-11-21T02:01:00Z", took=(TOOK,))
KEPT = record_of(
    BATCH,
    events=(RecordedEvent(AT, "night", "Upgrading", "begins"),),
    pools=(PoolRecord("data", "upgrading", ("data-1",)),),
    outside=("other-0",),
    deployed_version="2.19.6",
)
LEASE: Json = {
    "metadata": {"name": "lock", "uid": "u", "resourceVersion": "1", "annotations": {"upgrade.stateful/who": "ops"}},
    "spec": {"holderIdentity": "night", "leaseDurationSeconds": 60, "renewTime": "2026-11-21T02:00:00.000000Z"},
}
BUDGET: Json = {
    "metadata": {"name": "data"},
    "spec": {
        "selector": {
            "matchLabels": {"app": "data"},
            "matchExpressions": [{"key": "app", "operator": "In", "values": ["data"]}],
        }
    },
    "status": {"disruptionsAllowed": 1, "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3},
}
EVENT: Json = {"type": "Warning", "reason": "x", "message": "y", "count": 2, "metadata": {"creationTimestamp": "t"}}
TEMPLATES: Json = {
    "component_templates": [
        {
            "name": f"{NAME}-000001",
            "component_template": {"_meta": {"run": "night", "seconds": 60, "processes": ["7"]}},
        },
        {"name": STOP, "component_template": {"_meta": {"run": "night", "stop": "by dev"}}},
    ]
}
SERVICE: Json = {
    "metadata": {"name": "opensearch"},
    "spec": {"selector": {"app": "data"}, "ports": [{"name": "http", "port": 9200, "targetPort": "http"}]},
}
PORTS: Json = {"spec": {"containers": [{"name": "server", "ports": [{"name": "http", "containerPort": 9200}]}]}}
FLUSHED: Json = {
    "_shards": {
        "total": 4,
        "failed": 1,
        "failures": [{"index": "logs", "shard": 0, "status": "CONFLICT", "reason": {"type": "x", "reason": "busy"}}],
    }
}
MOVE: Json = {
    "node_allocation_decisions": [
        {"node_name": "b", "deciders": [{"decider": "same_shard", "decision": "NO"}]},
        {"node_name": "c", "deciders": [{"decider": "filter", "decision": "YES"}]},
    ]
}
RECOVERING: Json = {
    "logs": {
        "shards": [
            {
                "index": {"size": {"total_in_bytes": 9, "reused_in_bytes": 1, "recovered_in_bytes": 3}},
                "translog": {"total": 7, "recovered": 2},
            }
        ]
    }
}
VOTING: Json = {
    "metadata": {
        "cluster_coordination": {
            "last_committed_config": ["x"],
            "last_accepted_config": ["x"],
            "voting_config_exclusions": [{"node_id": "y", "node_name": "b"}],
        }
    }
}
PATHS: Json = {"nodes": {"x": {"name": "a", "settings": {"path": {"home": "/usr/share/opensearch", "data": ["data"]}}}}}
CLAIMS: list[Json] = [{"metadata": {"name": "data"}}]
CRASHED = objects.waiting("CrashLoopBackOff", restarts=3, last={"reason": "Error", "exitCode": 1})
READERS: dict[str, tuple[Any, Read]] = {
    **{name: (recorded(name), lambda both: parse_state(both["nodes"], both["state"])) for name in RECORDED},
    "health": (recorded("green-2.19.6")["health"], _opensearch(parse_health)),
    "settings": (recorded("upgraded-3.8.0")["settings"], _opensearch(lambda answer: removals(parse_settings(answer)))),
    "explanation": (recorded("mixed-2.19.6-3.8.0")["explanation"], _opensearch(parse_explanation)),
    "disks": (Servers().stats, lambda stats: observe_disks(
        _search(settings=Servers().defaults, stats={"_nodes": {"failed": 0}, "nodes": stats})
    )),
    "watermarks": (Servers().defaults, lambda settings: observe_disks(
        _search(settings=settings, stats={"_nodes": {"failed": 0}, "nodes": Servers().stats})
    )),
    "tasks": (
        {"nodes": {"x": {"name": "a", "tasks": {"x:7": {"id": 7, "action": "indices:data/write/reindex"}}}}},
        lambda answer: observe_tasks(_search(_tasks=answer)),
    ),
    "undo": (json.loads(UNDONE.text()), _carried),
    "strategy": (json.loads(UNDONE_STRATEGY.text()), _carried_strategy),
    "flush": (FLUSHED, lambda answer: flush(Task({"lock": None}), _search(_flush=answer), ["logs", "orders"])),
    "move": (MOVE, _opensearch(lambda answer: judge_room(["a"], [parse_move(("logs[0]",), answer)]))),
    "recoveries": (RECOVERING, lambda answer: observe_recoveries(_search(_recovery=answer))),
    "voting": (VOTING, lambda answer: observe_voting(_search(_cluster=answer))),
    "paths": (PATHS, _opensearch(parse_data_paths)),
    "service": (SERVICE, _forwarded),
    "ports": (PORTS, lambda item: named_port(item, "http")),
    "lock": (TEMPLATES, lambda answer: ClusterLock(_search(_component_template=answer)).read()),
    "lease": (LEASE, lock_of),
    "record": (asdict(KEPT), _recorded),
    "pod": (objects.pod_json(containers=[CRASHED], unscheduled="no place", finalizers=["example.com/a"]), pod),
    "set": (objects.pool_json(labels={"a": "b"}, annotations={"c": "d"}, volumeClaimTemplates=CLAIMS), stateful_set),
    "budget": (BUDGET, lambda item: list_budgets(cast(Any, _Listed(item)), "search")),
    "event": (EVENT, lambda item: list_events(cast(Any, _Listed(item)), "search", "Pod", "data-0")),
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_no_edit_of_an_answer_ends_as_a_bug(name: str) -> None:
    answer, read = READERS[name]
    read(json.loads(json.dumps(answer)))
    understood = 0
    for where, what, changed in mutations(answer, EACH, name):
        if name in RECORDED and not {"nodes", "state"} <= changed.keys():
            continue
        try:
            read(changed)
            understood += 1
        except Refusal:
            continue
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported with the edit
            pytest.fail(f"{'.'.join(map(str, where))} = {what!r}: {type(error).__name__}: {error}")
    assert understood < EACH or name in REMARKED, "edits are noticed"


def surely_serves(copy: Any, outside: set[str]) -> bool:
    """Whether a copy says in every field that it serves on one of these members."""
    return (
        copy.get("state") in ("STARTED", "RELOCATING")
        and copy.get("node") in outside
        and isinstance(copy.get("primary"), bool)
        and (copy["state"] == "RELOCATING") is bool(copy.get("relocating_node"))
    )


def may_go(both: Json, batch: str) -> bool:
    """The oracle: of each shard a copy serves outside the batch, or the state says that none was ever in the batch."""
    state, nodes = both["state"], both["nodes"]
    named = {identity for identity, node in state["nodes"].items() if nodes[identity]["name"] == node["name"]}
    assert named == set(state["nodes"]), "whoever is in the cluster has answered"
    outside = {identity for identity in named if state["nodes"][identity]["name"] != batch}
    for index, metadata in state["metadata"]["indices"].items():
        settings = metadata["settings"]["index"]
        table = state["routing_table"]["indices"].get(index, {"shards": {}})["shards"]
        if metadata["state"] == "open" and len(table) != int(settings["number_of_shards"]):
            return False
        for copies in table.values():
            if len(copies) != int(settings["number_of_replicas"]) + 1:
                return False
            if not any(surely_serves(copy, outside) for copy in copies) and not elsewhere(copies, outside):
                return False
    voting = state["metadata"]["cluster_coordination"]
    for which in ("last_committed_config", "last_accepted_config"):
        voters = set(voting[which])
        if voters - outside and 2 * len(voters & outside) <= len(voters):
            return False
    return voting["voting_config_exclusions"] == []


def elsewhere(copies: list[Json], outside: set[str]) -> bool:
    """Whether a shard has nothing to do with the batch: no copy is on a member that is not outside."""
    return all(
        copy.get("node") in {None, *outside} and copy.get("relocating_node") in {None, *outside} for copy in copies
    )


def refused_proofs() -> Iterator[tuple[str, str]]:
    """The members of the recorded clusters that may not go now."""
    for name in RECORDED:
        both = recorded(name)
        state = parse_state(both["nodes"], both["state"])
        members = [member.name for member in state.members.values()]
        for member in members:
            if not prove(state, members, [member], Policy()).passed:
                yield name, member


def test_there_are_proofs_to_turn() -> None:
    assert len(list(refused_proofs())) >= 5


@pytest.mark.parametrize(("name", "member"), list(refused_proofs()))
def test_no_edit_of_an_answer_makes_a_refused_proof_pass(name: str, member: str) -> None:
    both = {part: recorded(name)[part] for part in ("nodes", "state")}
    members = [node["name"] for node in both["state"]["nodes"].values()]
    for where, what, changed in mutations(both, EACH, f"{name} {member}"):
        if not {"nodes", "state"} <= changed.keys():
            continue
        try:
            verdict = prove(parse_state(changed["nodes"], changed["state"]), members, [member], Policy())
        except Refusal:
            continue
        if verdict.passed:
            assert may_go(changed, member), f"{'.'.join(map(str, where))} = {what!r}"
