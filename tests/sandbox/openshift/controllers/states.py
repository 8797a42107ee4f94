"""Questions to a Kubernetes node, as the controller of the pools asks them.

`pkg/controller/common/layered_node_state.go` of machine-config-operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.sandbox.kubernetes.objects import Json, condition_of
from tests.sandbox.kubernetes.selectors import selected
from tests.sandbox.openshift.kinds import (
    CURRENT,
    DEGRADED,
    DESIRED,
    DONE,
    MASTER,
    STATE,
    UNRECONCILABLE,
    WORKER,
    ZONE,
    annotations_of,
)


def unready(node: Json) -> str:
    """The reason why a Kubernetes node takes no work (`CheckNodeReady`); empty: it is Ready and not cordoned."""
    if condition_of(node, "Ready").get("status") != "True":
        return "NotReady"
    if condition_of(node, "DiskPressure").get("status") not in {None, "False"}:
        return "DiskPressure"
    return "Unschedulable" if node["spec"].get("unschedulable") else ""


def is_done(node: Json) -> bool:
    """Whether its daemon has nothing to do (`IsNodeDone`)."""
    found = annotations_of(node)
    return bool(found.get(CURRENT)) and found.get(CURRENT) == found.get(DESIRED) and found.get(STATE) == DONE


def is_degraded(node: Json) -> bool:
    """Whether its daemon has given up for now (`IsNodeDegraded`, `IsNodeUnreconcilable`)."""
    return annotations_of(node).get(STATE) in {DEGRADED, UNRECONCILABLE}


def is_failing(node: Json) -> bool:
    """Whether it has not reached a configuration that it was given (`IsNodeMCDFailing`)."""
    found = annotations_of(node)
    return found.get(CURRENT) != found.get(DESIRED) and is_degraded(node)


def is_unavailable(node: Json) -> bool:
    """Whether it counts against `maxUnavailable` (`IsUnavailableForUpdate`): also where a person has cordoned it."""
    return bool(unready(node)) or (not is_done(node) and not is_failing(node))


def pool_of(node: Json, pools: Iterable[Json]) -> str:
    """The name of the pool that configures it (`GetPoolsForNode` in `pkg/helpers/helpers.go`).

    A master is of `master`; a Kubernetes node of two custom pools, or of Windows, is of none; any other one is of its
    custom pool.
    """
    labels = node["metadata"].get("labels") or {}
    if labels.get("kubernetes.io/os") == "windows":
        return ""
    fits = [each["metadata"]["name"] for each in pools if selected(each["spec"].get("nodeSelector"), labels)]
    custom = [each for each in fits if each not in {MASTER, WORKER}]
    if len(custom) > 1:
        return ""
    if MASTER in fits:
        return MASTER
    return custom[0] if custom else (WORKER if WORKER in fits else "")


def in_order(nodes: Sequence[Json]) -> list[Json]:
    """The order in which they are taken (`sortNodeList`): by zone, those without one last, then the oldest first."""

    def key(node: Json) -> tuple[bool, str, str]:
        zone = (node["metadata"].get("labels") or {}).get(ZONE)
        return zone is None, zone or "", node["metadata"]["creationTimestamp"]

    return sorted(nodes, key=key)


def most_unavailable(pool: Json, nodes: int) -> int:
    """`maxUnavailable` of a pool as a number (`maxUnavailable`): rounded down, and never less than one."""
    value = pool["spec"].get("maxUnavailable", 1)
    if isinstance(value, str):
        value = int(value.rstrip("%")) * nodes // 100
    return max(1, int(value))


def candidates(pool: Json, nodes: Sequence[Json]) -> tuple[list[Json], int]:
    """Those that may be taken now, and how many of them (`getAllCandidateMachines`)."""
    capacity = most_unavailable(pool, len(nodes)) - sum(is_unavailable(each) for each in nodes)
    if capacity <= 0:
        return [], 0
    wanted = pool["spec"]["configuration"]["name"]
    others = [each for each in nodes if annotations_of(each).get(DESIRED) != wanted]
    failing = sum(is_failing(each) for each in nodes if annotations_of(each).get(DESIRED) == wanted)
    return [each for each in others if not unready(each)], max(0, capacity - failing)
