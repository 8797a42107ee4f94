"""`_cluster/allocation/explain`: why a copy is where it is, and the decision for every member."""

from __future__ import annotations

from typing import Any

from tests.sandbox.opensearch.allocation import decision
from tests.sandbox.opensearch.changed import key_of
from tests.sandbox.opensearch.deciders import Said, against, against_staying
from tests.sandbox.opensearch.errors import ServerError, illegal, no_index
from tests.sandbox.opensearch.known import REBALANCE
from tests.sandbox.opensearch.model import Copy, Member
from tests.sandbox.opensearch.rest.bodies import moment, status_of
from tests.sandbox.opensearch.rest.looks import chosen
from tests.sandbox.opensearch.rest.routes import Call, Route, answered
from tests.sandbox.web import Answer

WORDS = {"YES": "yes", "NO": "no", "THROTTLE": "throttled"}
EXPLANATIONS = {
    "yes": "can allocate the shard",
    "no": "cannot allocate because allocation is not permitted to any of the nodes",
    "throttled": "allocation temporarily throttled",
    "allocation_delayed": "cannot allocate because the cluster is still waiting {} for the departed node holding a"
    " replica to rejoin, despite being allowed to allocate the shard to at least one other node",
    "no_valid_shard_copy": "cannot allocate because a previous copy of the primary shard existed but can no longer be"
    " found on the nodes in the cluster",
}
STAYS = "cannot move shard to another node, even though it is not allowed to remain on its current node"
GOES = "shard cannot remain on this node and is force-moved to another node"
NO_BALANCE = (
    "cannot rebalance as no target node exists that can both allocate this shard and improve the cluster balance"
)


def _copy(call: Call) -> Copy:
    """The copy that is asked for; without a body the first that is on no member."""
    body = call.body
    if not body:
        found = next((copy for copy in call.state.copies if copy.state == "UNASSIGNED"), None)
        if found is None:
            raise illegal(
                "unable to find any unassigned shards to explain [ClusterAllocationExplainRequest[useAnyUnassignedShard"
                "=true,includeYesDecisions?=false]"
            )
        return found
    missing = [name for name in ("index", "shard", "primary") if name not in body]
    if missing:
        said = "".join(f"{number}: {name} must be specified;" for number, name in enumerate(missing, 1))
        raise ServerError(400, "action_request_validation_exception", f"Validation Failed: {said}")
    index = call.state.indices.get(str(body["index"]))
    if index is None:
        raise no_index(str(body["index"]), "")
    copies = index.shards.get(int(body["shard"]))
    if copies is None:
        about = {"index": index.name, "shard": str(body["shard"]), "index_uuid": index.uuid}
        raise ServerError(404, "shard_not_found_exception", "no such shard", **about)
    if "current_node" in body:
        return _on(call, copies, bool(body["primary"]), str(body["current_node"]))
    if body["primary"]:
        return index.primary(int(body["shard"]))
    replicas = [copy for copy in copies if not copy.primary]
    if not replicas:
        raise illegal(f"unable to find a replica shard to explain for [{index.name}][{body['shard']}]")
    return min(replicas, key=lambda copy: ("UNASSIGNED", "INITIALIZING", "RELOCATING", "STARTED").index(copy.state))


def _on(call: Call, copies: list[Copy], primary: bool, name: str) -> Copy:
    nodes = chosen(call.state, name)
    if not nodes:
        raise illegal(f"failed to resolve [{name}], no matching nodes")
    for copy in copies:
        if copy.primary == primary and copy.node == nodes[0].id:
            return copy
    kind = "primary" if primary else "replica"
    raise illegal(f"unable to find a {kind} shard assigned to node [{name}]")


def _node(node: Member) -> dict[str, Any]:
    place = {"id": node.id, "name": node.name, "transport_address": f"{node.spec.address}:9300"}
    return {**place, "attributes": node.attributes}


def _decided(node: Member, said: list[Said], ranking: int, word: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "node_id": node.id,
        "node_name": node.name,
        "transport_address": f"{node.spec.address}:9300",
        "node_attributes": node.attributes,
        "node_decision": word,
        "weight_ranking": ranking,
    }
    deciders = [dict(each._asdict()) for each in said]
    return {**body, "deciders": deciders} if deciders else body


def _decisions(call: Call, copy: Copy, nodes: list[Member], good: str = "yes") -> list[dict[str, Any]]:
    """The decision for each member; members that may have the copy come first."""
    allocation = call.cluster.allocation
    ranked = sorted(nodes, key=lambda node: allocation.weight(copy.index, node))
    found = []
    for ranking, node in enumerate(ranked, start=1):
        said = against(call.state, copy, node)
        word = WORDS[decision(said)]
        found.append(_decided(node, said, ranking, good if word == "yes" else word))
    return sorted(found, key=lambda each: ("yes", "throttled", good, "no").index(each["node_decision"]))


def _unassigned(call: Call, copy: Copy) -> dict[str, Any]:
    why = copy.why
    assert why is not None
    details = {"details": why.details} if why.details else {}
    failed = {"failed_allocation_attempts": why.failed} if why.failed else {}
    info = {"reason": why.reason, "at": moment(why.at), **failed, **details, "last_allocation_status": status_of(copy)}
    body: dict[str, Any] = {"unassigned_info": info}
    nodes = call.state.data_nodes
    if copy.primary and not copy.new and not call.cluster.allocation.holders(copy):
        without = [_without_weight(_decided(node, [], 0, "no")) for node in nodes]
        stores = [{**each, "store": {"found": _has(copy, node)}} for each, node in zip(without, nodes, strict=True)]
        word = "no_valid_shard_copy"
        body |= {"can_allocate": word, "allocate_explanation": EXPLANATIONS[word]}
        return {**body, "node_allocation_decisions": stores}
    decisions = _decisions(call, copy, nodes)
    words = [each["node_decision"] for each in decisions]
    word = "yes" if "yes" in words else "throttled" if "throttled" in words else "no"
    having = any(_has(copy, node) for node in nodes if not _holds(copy, node))
    if word == "yes" and not copy.primary and call.state.is_delayed(copy) and not having:
        return {**body, **_delayed(call, copy), "node_allocation_decisions": decisions}
    body |= {"can_allocate": word, "allocate_explanation": EXPLANATIONS[word]}
    if word == "yes":
        body["target_node"] = _node(call.state.nodes[decisions[0]["node_id"]])
    return {**body, "node_allocation_decisions": decisions}


def _without_weight(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "weight_ranking"}


def _has(copy: Copy, node: Member) -> bool:
    return key_of(copy) in node.disk.stores


def _holds(copy: Copy, node: Member) -> bool:
    return any(node.id in each.places for each in copy.index.shards[copy.shard])


def _delayed(call: Call, copy: Copy) -> dict[str, Any]:
    whole = call.state.delay_of(copy.index)
    assert copy.why is not None
    left = whole - (call.state.clock.now() - copy.why.at)
    return {
        "can_allocate": "allocation_delayed",
        "allocate_explanation": EXPLANATIONS["allocation_delayed"].format(f"[{left:.1f}s]"),
        "configured_delay_in_millis": round(whole * 1000),
        "remaining_delay_in_millis": round(left * 1000),
    }


def _assigned(call: Call, copy: Copy) -> dict[str, Any]:
    node = call.state.nodes[copy.node or ""]
    if copy.state in {"INITIALIZING", "RELOCATING"}:
        doing, done = (
            ("initializing", "initialization") if copy.state == "INITIALIZING" else ("relocating", "relocation")
        )
        target = call.state.nodes[copy.target].name if copy.target else ""
        place = f"from node [{node.name}] to node [{target}]" if target else f"on node [{node.name}]"
        said = f"the shard is in the process of {doing} {place}, wait until {done} has completed"
        return {"current_node": _node(node), "explanation": said}
    body: dict[str, Any] = {"current_node": {**_node(node), "weight_ranking": 1}}
    others = [each for each in call.state.data_nodes if each is not node]
    refused = against_staying(call.state, copy)
    if refused is not None:
        decisions = _decisions(call, copy, others)
        words = [each["node_decision"] for each in decisions]
        word = "yes" if "yes" in words else "throttled" if "throttled" in words else "no"
        body |= {
            "can_remain_on_current_node": "no",
            "can_remain_decisions": [dict(refused._asdict())],
            "can_move_to_other_node": word,
            "move_explanation": GOES if word == "yes" else STAYS,
        }
        return {**body, **({"node_allocation_decisions": decisions} if decisions else {})}
    decisions = _decisions(call, copy, others, "worse_balance")
    body |= {"can_remain_on_current_node": "yes", **_balance(call)}
    return {**body, **({"node_allocation_decisions": decisions} if decisions else {})}


def _balance(call: Call) -> dict[str, Any]:
    """Whether the cluster may be evened out now."""
    if any(copy.state == "UNASSIGNED" for copy in call.state.copies):
        setting = "cluster setting [cluster.routing.allocation.allow_rebalance] is set to [indices_all_active]"
        said = Said("cluster_rebalance", "NO", f"the cluster has unassigned shards and {setting}")
    elif call.state.setting(REBALANCE) != "all":
        said = Said("enable", "NO", f"no rebalancing is allowed due to cluster setting [{REBALANCE}=none]")
    else:
        can = {"can_rebalance_cluster": "yes", "can_rebalance_to_other_node": "no"}
        return {**can, "rebalance_explanation": NO_BALANCE}
    return {
        "can_rebalance_cluster": "no",
        "can_rebalance_cluster_decisions": [dict(said._asdict())],
        "can_rebalance_to_other_node": "no",
        "rebalance_explanation": "rebalancing is not allowed",
    }


def _explain(call: Call) -> Answer:
    copy = _copy(call)
    about = {"index": copy.index.name, "shard": copy.shard, "primary": copy.primary}
    body: dict[str, Any] = {**about, "current_state": copy.state.lower()}
    more = _unassigned(call, copy) if copy.state == "UNASSIGNED" else _assigned(call, copy)
    return answered({**body, **more})


_PARAMS = frozenset({"include_yes_decisions", "include_disk_info"})
ROUTES = (Route(("GET", "POST"), "/_cluster/allocation/explain", _explain, _PARAMS),)
