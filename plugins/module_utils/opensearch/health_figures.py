"""The figures of the health of an OpenSearch or Elasticsearch cluster, which runs compare with those from before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping

from ..common.task import Task
from ..run.health_figures import HealthFigure, HealthFigures, HealthLook
from .judge.index_names import index_names
from .judge.progress import fixed_by_upgrade
from .observe.client import connect
from .observe.cluster import observe, observe_health
from .observe.copies import unassigned
from .observe.counters import BREAKERS, POOLS, SEARCH_TIME, observe_counters
from .observe.explaining import explain
from .observe.state import ClusterState
from .observe.version import Version

UNASSIGNED, PENDING_TASKS = "unassigned", "pending_tasks"
REFUSED = {"refused_searches": "searches", "refused_writes": "writes", "refused_gets": "gets"}
_HOUR = 3_600_000.0
_LOADED = "A member may be overloaded or slow to warm its caches, or too few members may be up for the load."


def _refusals(name: str, things: str) -> HealthFigure:
    return HealthFigure(
        name,
        f"refused {things}",
        f"{_LOADED} See GET _cat/thread_pool.",
        unit=" %",
        factor=100.0,
        rate=True,
        ratio=2.0,
        floor=0.001,
        sample=200,
        events=10,
    )


FIGURES = (
    HealthFigure(
        UNASSIGNED,
        "unassigned shards",
        "A member may be away, or a disk may be above a watermark. See GET _cluster/allocation/explain.",
    ),
    HealthFigure(
        PENDING_TASKS,
        "pending tasks of the elected manager",
        "It may be overloaded, or a task may hang. See GET _cluster/pending_tasks.",
        floor=20.0,
    ),
    *(_refusals(name, REFUSED[name]) for name in POOLS.values()),
    HealthFigure(
        SEARCH_TIME,
        "time of a search on a shard",
        f"{_LOADED} See GET _nodes/hot_threads.",
        unit=" ms",
        rate=True,
        ratio=2.0,
        floor=10.0,
        sample=200,
    ),
    HealthFigure(
        BREAKERS,
        "tripped circuit breakers",
        "The heap of a member may be too small for the load. See GET _nodes/stats/breaker.",
        unit=" an hour",
        factor=_HOUR,
        rate=True,
        ratio=2.0,
        floor=10.0 / _HOUR,
        sample=1,
        events=3,
    ),
)
"""In the order in which they are judged. Ratios and floors leave room for what differs from one minute to the next."""


def look(task: Task) -> HealthLook:
    """One look: four requests, and one for each index with an unassigned shard."""
    client = connect(task.params["opensearch"], task.params["kubernetes"])
    health = observe_health(client)
    state = observe(client)
    lost = unassigned(state)
    waiting = {
        (one.index, one.shard)
        for one in (explain(client, state, lost) if lost else ())
        if not one.primary and fixed_by_upgrade(one, outdated(state, task.params["target_version"] or ""))
    }
    allowed = index_names(task.params["allow_red_indices"], "allow_red_indices")
    return HealthLook(
        {UNASSIGNED: without_place(state, waiting, allowed), PENDING_TASKS: {"": health.pending_tasks}},
        observe_counters(client),
    )


def outdated(state: ClusterState, target: str) -> frozenset[str]:
    """The ids of the members below the target version; none if there is no target."""
    if not target:
        return frozenset()
    wanted = Version.parse(target)
    return frozenset(member.id for member in state.members.values() if member.version < wanted)


def without_place(
    state: ClusterState, waiting: Container[tuple[str, int]], allowed: Container[str] = ()
) -> Mapping[str, int]:
    """The unassigned copies of each index, without those of shards that only wait for the upgrade of a member, and of
    indices whose shards are allowed to be missing."""
    return Counter(
        copy.index
        for copy in state.copies
        if copy.state == "UNASSIGNED"
        and copy.index not in allowed
        and (copy.primary or (copy.index, copy.shard) not in waiting)
    )


HEALTH = HealthFigures(FIGURES, look)
