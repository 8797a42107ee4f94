"""The looks at an OpenSearch cluster: few calls, none that fans out to every shard.

Each look raises a `Refusal` if an answer is missing or unreadable, and `Unreachable` if a member of the cluster has not
answered for itself. The routing table comes from the cluster state, never from `_cat/shards`, which asks every data
member for all its statistics whatever columns are wanted (server source, RestShardsAction).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...common.errors import NotServed, Refusal, Unreachable
from ...common.reading import FOREIGN, Json, Unreadable, named, optional_text, part, text, whole, whole_part, within
from ...common.task import Task
from ...common.words import enumerate_few
from .answers import reading
from .client import OpenSearchClient, connect
from .configured import Configured, parse_allocation, parse_of_indices, parse_started_with
from .data_paths import DataPaths, parse_data_paths
from .decommissioned import parse_decommissioned
from .disk import Disks, parse_disks, parse_watermarks
from .managed_indices import CONFIGURATION, FIELDS, Managed
from .plugins import Installed, parse_installed
from .products import product_of
from .recoveries import UNKNOWN, Recoveries, parse_recoveries
from .routing import health_of, parse_copies
from .settings import Settings, parse_settings
from .shutdowns import parse_removals
from .state import (
    ClusterMember,
    ClusterState,
    Health,
    Index,
    Voting,
    parse_blocks,
    parse_health,
    parse_index,
    parse_members,
    parse_snapshots,
    parse_voting,
    unanswered,
    version_of,
)
from .tasks import LONG_TASKS, LongTask, parse_tasks
from .version import Version

_NODES = ",".join(
    f"nodes.*.{name}" for name in ("name", "version", "build_flavor", "ip", "host", "roles", "attributes")
)
NODES, BOTH = "GET /_nodes", "GET /_cluster/state with GET /_nodes"
LOOKS = 3
"""Looks in a row before a member that is in the cluster counts as one that does not answer."""
ANSWERING = "5s"
"""The time for which the server waits for each member. Without a limit, one that hangs would hold back the answers of
all until the request times out, and could not be named."""
PAGE, WINDOW = 1000, 10_000
"""Managed indices that one page has, and all pages. Each page makes the plugin read the state of all of them."""
_IDENTITIES = "nodes.*.name,nodes.*.ephemeral_id"
_ACTIVITY = ",".join(
    f"routing_table.indices.*.shards.*.{name}" for name in ("primary", "state", "unassigned_info.reason")
)
_SCOPES = ("defaults", "persistent", "transient")
_INDEX = "metadata.indices.*.settings.index"
_STATE = ",".join(
    (
        "cluster_name",
        "cluster_uuid",
        "version",
        "cluster_manager_node",
        "master_node",
        "blocks.global",
        "nodes.*.name",
        "nodes.*.ephemeral_id",
        "nodes.*.max_index_version",
        *(f"metadata.{name}" for name in ("cluster_coordination", "decommissionedAttribute", "node_shutdown.nodes")),
        "metadata.indices.*.state",
        *(f"{_INDEX}.{name}" for name in ("number_of_shards", "number_of_replicas", "auto_expand_replicas")),
        *(f"{_INDEX}.{name}" for name in ("version.created", "verified_read_only", "routing.allocation.enable")),
        *(f"{_INDEX}.{name}" for name in ("write.wait_for_active_shards", "store.type", "remote_store.enabled")),
        "routing_table.indices.*.shards.*.index",
        "routing_table.indices.*.shards.*.shard",
        "routing_table.indices.*.shards.*.primary",
        "routing_table.indices.*.shards.*.state",
        "routing_table.indices.*.shards.*.node",
        "routing_table.indices.*.shards.*.relocating_node",
        "routing_table.indices.*.shards.*.searchOnly",
        "routing_table.indices.*.shards.*.unassigned_info.reason",
        "snapshots.snapshots.repository",
        "snapshots.snapshots.snapshot",
        "snapshots.snapshots.shards.index.index_name",
        "snapshots.snapshots.shards.shard",
        "snapshots.snapshots.shards.state",
        "snapshots.snapshots.shards.node",
    )
)


def observe(client: OpenSearchClient) -> ClusterState:
    """One look: two calls, answered by the elected manager and by each member for itself.

    A member that joins or leaves between the two is in only one answer; then both calls are made again.
    """
    return parse_state(*_agreeing(lambda: _both(client)))


def _agreeing(ask: Callable[[], tuple[Json, Json]]) -> tuple[Json, Json]:
    """The answers of all members and the cluster state, asked until every member of the state has answered."""
    for _look in range(LOOKS):
        nodes, state = ask()
        with reading(BOTH):
            if not unanswered(nodes, part(state, "nodes")):
                break
    return nodes, state


def _both(client: OpenSearchClient) -> tuple[Json, Json]:
    nodes = _nodes(client)
    with reading(NODES):
        versions = [version_of(whole_part(node), "version", elastic="build_flavor" in node) for node in nodes.values()]
    elected = _elected_in(versions)
    state = client.get(
        f"/_cluster/state/metadata,routing_table,nodes,blocks,version,customs,{elected}", filter_path=_STATE
    )
    _names(state)
    return nodes, state


def _elected_in(versions: Iterable[Version]) -> str:
    """The name of the field that says which member is the elected manager; any, while no member has answered."""
    oldest = min(versions, default=None)
    return product_of(oldest).elected_in(oldest) if oldest else "master_node"


def _names(state: Json) -> Mapping[str, str]:
    """The names of the members in the cluster state, by id. There is at least one: the member that answers."""
    with reading(BOTH):
        names = named(state, "nodes", lambda _identity, node: text(node, "name"))
        if not names:
            raise Unreadable("is empty: the cluster has no members", "nodes")
    return names


def _nodes(client: OpenSearchClient) -> Json:
    """The answer of each member about itself, by its id."""
    answer = client.get("/_nodes/_all/_none", timeout=ANSWERING, filter_path=_NODES)
    with reading(NODES):
        return part(answer, "nodes", {})


def cluster_uuid(client: OpenSearchClient) -> str:
    """The identity of the cluster, which is made once at its first start."""
    path = "/_cluster/state/version"
    answer = client.get(path, filter_path="cluster_uuid")
    with reading(f"GET {path}"):
        return _uuid(answer)


def uuid_for(task: Task) -> str:
    """The identity of the cluster of a task, once it can be read."""
    client = connect(task.params["opensearch"], task.params["kubernetes"])
    return task.ask(lambda: cluster_uuid(client))


def _uuid(answer: Json) -> str:
    uuid = text(answer, "cluster_uuid")
    if uuid == "_na_":
        raise Unreadable("is not set yet (_na_), since the cluster has not formed", "cluster_uuid")
    return uuid


def parse_state(nodes: Json, state: Json) -> ClusterState:
    """The cluster state from both answers."""
    with reading(BOTH):
        members = parse_members(nodes, part(state, "nodes"))
        holding = [(one.holds_up_to, one.version) for one in members.values() if one.holds_up_to is not None]

        def index(name: str, metadata: Json) -> Index:
            return parse_index(name, metadata, holding)

        indices = within(state, "metadata", lambda metadata: named(metadata, "indices", index, {}))
        voting = within(state, "metadata.cluster_coordination", parse_voting)
        seen = ClusterState(
            uuid=_uuid(state),
            version=whole(state, "version"),
            elected=optional_text(state, "cluster_manager_node") or optional_text(state, "master_node"),
            members=members,
            copies=within(state, "routing_table", lambda table: parse_copies(table, indices, members), {}),
            indices=indices,
            voting=voting,
            blocks=within(state, "blocks", parse_blocks, {}),
            snapshots=within(state, "snapshots", parse_snapshots, {}),
            name=optional_text(state, "cluster_name") or "",
            decommissioned=within(state, "metadata", parse_decommissioned),
            removals=within(state, "metadata", parse_removals),
        )
        placed = {copy.index for copy in seen.copies}
        lost = sorted(index.name for index in seen.indices.values() if index.open and index.name not in placed)
        # While the state is being recovered there is no routing table yet, and a block says so.
        if lost and not seen.blocks:
            raise Unreadable(f"does not say where the shards of {enumerate_few(lost)} are", "routing_table")
    return seen


def observe_health(client: OpenSearchClient, long_poll: float = 0.0) -> Health:
    """Health after its task queue was drained once (`wait_for_events=languid`), or after `long_poll` seconds.

    `green` alone may be out of date: an index created just before is not counted yet (elastic/cloud-on-k8s#8267).
    """
    waits: dict[str, Any] = {"wait_for_status": "green"} if long_poll else {}
    answer = client.health(wait_for_events="languid", timeout=f"{round(1000 * (long_poll or 1))}ms", **waits)
    with reading("GET /_cluster/health"):
        return parse_health(answer)


def observe_members(client: OpenSearchClient, names: Iterable[str]) -> dict[str, ClusterMember]:
    """The named members that are in the cluster now, by name; cheap enough for a tight loop.

    The state is asked first, so that a new process is never seen with the version of the old one.
    """
    return _members(client, names, "nodes", _IDENTITIES)[0]


def observe_absence(client: OpenSearchClient, names: Iterable[str]) -> tuple[dict[str, ClusterMember], str]:
    """The same in as many requests, with the health of the cluster; that is empty if it is not known."""
    members, state = _members(client, names, "nodes,routing_table", f"{_IDENTITIES},{_ACTIVITY}")
    return members, health_of(state.get("routing_table"))


def _members(
    client: OpenSearchClient, names: Iterable[str], metrics: str, fields: str
) -> tuple[dict[str, ClusterMember], Json]:
    """The named members, and the state that was asked for them."""
    wanted, seen = set(names), dict[str, Any]()

    def ask() -> tuple[Json, Json]:
        state = client.get(f"/_cluster/state/{metrics}", filter_path=fields)
        seen.update(state)
        there = {identity: state["nodes"][identity] for identity, name in _names(state).items() if name in wanted}
        return _nodes(client) if there else {}, {"nodes": there}

    nodes, state = _agreeing(ask)
    with reading(BOTH):
        members = parse_members(nodes, part(state, "nodes"))
    return {member.name: member for member in members.values() if member.name in wanted}, seen


def observe_data_paths(client: OpenSearchClient) -> DataPaths:
    """The data paths of each member from its own settings; members that have not answered in time are left out."""
    wanted = ("nodes.*.name", "nodes.*.settings.path.data", "nodes.*.settings.path.home")
    answer = client.get("/_nodes/_all/settings", timeout=ANSWERING, filter_path=",".join(wanted))
    with reading("GET /_nodes/_all/settings"):
        return parse_data_paths(answer)


def observe_installed(client: OpenSearchClient, names: str = "_all") -> Mapping[str, Installed]:
    """The installations of the members whose names match: one call, which each of them answers for itself."""
    path = f"/_nodes/{names}/plugins,settings"
    wanted = ("nodes.*.name", "nodes.*.version", "nodes.*.plugins.name", "nodes.*.settings.path.home")
    answer = client.get(path, timeout=ANSWERING, filter_path=",".join(wanted))
    with reading(f"GET {path}", "plugins"):
        return parse_installed(answer)


def observe_configured(client: OpenSearchClient, of_indices: Iterable[str]) -> Configured:
    """The settings that members were started with, and these of the indices: a call to each member, and one more."""
    settings = client.get(
        "/_nodes/_all/settings",
        timeout=ANSWERING,
        flat_settings="true",
        filter_path="_nodes,nodes.*.name,nodes.*.settings",
    )
    wanted = ",".join(f"metadata.indices.*.settings.{name}" for name in (*of_indices, "archived"))
    state = client.get("/_cluster/state/metadata", filter_path=wanted)
    with reading("GET /_nodes/_all/settings", "settings"):
        _all_answered(within(settings, "_nodes", lambda header: whole(header, "failed")), "settings", "settings")
        members, allocation = parse_started_with(settings), parse_allocation(settings)
    with reading("GET /_cluster/state/metadata", "settings"):
        return Configured(members, parse_of_indices(state), allocation)


def observe_disks(client: OpenSearchClient) -> Disks:
    """The disks of the data members and the watermarks in force: a call to each data member, and one more."""
    path = "cluster.routing.allocation.disk"
    settings = client.get(
        "/_cluster/settings", include_defaults="true", filter_path=",".join(f"{s}.{path}" for s in _SCOPES)
    )
    stats = client.get(
        "/_nodes/data:true/stats/fs",
        timeout=ANSWERING,
        filter_path="_nodes,nodes.*.name,nodes.*.roles,nodes.*.fs.data.total_in_bytes,nodes.*.fs.data.available_in_bytes",
    )
    with reading("GET /_nodes/stats/fs", "disk"):
        _all_answered(within(stats, "_nodes", lambda header: whole(header, "failed")), "disks", "disk")
        disks = parse_disks(stats)
    with reading("GET /_cluster/settings", "disk"):
        return Disks(disks, parse_watermarks(settings, len(disks)))


def observe_managed(client: OpenSearchClient, state: ClusterState) -> Managed:
    """The indices that index state management is at work on, in pages; without its index it was never used.

    The pages end where the server's searches do (`index.max_result_window`).
    """
    managed, path = Managed(), "/_plugins/_ism/explain"
    if all(index.name != CONFIGURATION for index in state.indices.values()):
        return managed
    for begin in range(0, WINDOW, PAGE):
        try:
            answer = client.get(path, **{"from": begin, "size": PAGE, "filter_path": ",".join(FIELDS)})
        except NotServed:
            return managed
        with reading(f"GET {path}", "index_management"):
            managed = managed.with_page(answer)
        if begin + PAGE >= managed.total:
            break
    return managed


def observe_tasks(client: OpenSearchClient) -> tuple[LongTask, ...]:
    """The long tasks of all members: one call, which each member answers for itself."""
    actions = ",".join(LONG_TASKS)
    wanted = ("name", "tasks.*.id", "tasks.*.action", "tasks.*.description", "tasks.*.parent_task_id")
    answer = client.get(
        "/_tasks",
        actions=actions,
        detailed="true",
        timeout=ANSWERING,
        filter_path=",".join(("node_failures", "task_failures", *(f"nodes.*.{name}" for name in wanted))),
    )
    with reading("GET /_tasks", "tasks"):
        _all_answered(answer.get("node_failures") or answer.get("task_failures"), "tasks", "tasks")
        return parse_tasks(answer)


def observe_recoveries(client: OpenSearchClient) -> Recoveries:
    """The amount that the recoveries under way still have to copy, or `UNKNOWN`, since no verdict needs it."""
    figures = ("index.size.total_in_bytes", "index.size.reused_in_bytes", "index.size.recovered_in_bytes")
    wanted = (*figures, "translog.total", "translog.recovered")
    try:
        paths = ",".join(f"*.shards.{name}" for name in wanted)
        return parse_recoveries(client.get("/_recovery", active_only="true", filter_path=paths))
    except (Refusal, *FOREIGN):
        return UNKNOWN


def _all_answered(failures: Any, what: str, check: str) -> None:
    """Check that all members answered. One that is joining or leaving may not have, so it is asked again.

    Raises:
        Unreachable: one has not answered.
    """
    if failures:
        raise Unreachable.because(
            "opensearch_unavailable",
            f"Some members of OpenSearch did not report their {what}.",
            f"If this does not pass, see which member is overloaded. To continue without, set skip_checks: [{check}].",
        )


def read_settings(client: OpenSearchClient) -> Settings:
    """Both scopes of the cluster settings, flat.

    Until it has recovered its state after a restart, a cluster says that none are set (server source,
    ClusterStateUpdaters.hideStateIfNotRecovered). A block shows that; if there is none, the settings are read again.
    """
    found = _settings(client)
    if found.persistent or found.transient:
        return found
    blocked = client.get("/_cluster/state/blocks", filter_path="blocks.global")
    with reading("GET /_cluster/state/blocks"):
        passing = [each for each in within(blocked, "blocks", parse_blocks, {}) if each.passing]
    if passing:
        said = f"OpenSearch does not report its settings now: {passing[0].description}."
        check = "If this does not pass, see the logs of the manager-eligible members."
        raise Unreachable.because("opensearch_unavailable", said, check)
    return _settings(client)


def _settings(client: OpenSearchClient) -> Settings:
    answer = client.get("/_cluster/settings", flat_settings="true")
    with reading("GET /_cluster/settings"):
        return parse_settings(answer)


def observe_voting(client: OpenSearchClient) -> Voting:
    """The voting configurations and exclusions now."""
    path = "/_cluster/state/metadata"
    answer = client.get(path, filter_path="metadata.cluster_coordination")
    with reading(f"GET {path}"):
        return within(answer, "metadata.cluster_coordination", parse_voting)


def observe_elected(client: OpenSearchClient, seen: ClusterState) -> str | None:
    """The id of the elected manager now, if any."""
    name = _elected_in(member.version for member in seen.members.values())
    answer = client.get(f"/_cluster/state/{name}", filter_path=name)
    with reading(f"GET /_cluster/state/{name}"):
        return optional_text(answer, name)
