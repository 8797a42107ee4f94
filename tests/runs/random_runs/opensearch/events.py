"""The events of a story of OpenSearch, as they happen to the servers in memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import urllib3
from kubernetes import client

from tests.lab.opensearch.layouts import Pool
from tests.lab.waiting import until
from tests.runs.random_runs.events import OF_EVERY_SYSTEM, OF_PERSON, Happening
from tests.runs.random_runs.opensearch.story import OpenSearchStory
from tests.runs.random_runs.person import Person
from tests.runs.random_runs.story import Event
from tests.runs.world import CalledCluster
from tests.sandbox.kubernetes.cluster import NODES
from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.kubernetes.objects import is_ready
from tests.sandbox.opensearch.cluster import Cluster as Servers
from tests.sandbox.opensearch.lagging import LONGEST
from tests.sandbox.opensearch.model import AVAILABLE

REQUESTS = (
    ("DELETE", "/pods/"),
    ("PATCH", "/statefulsets/"),
    ("PATCH", "/configmaps/"),
    ("PATCH", "/leases/"),
    ("POST", "/configmaps"),
    ("GET", "/pods"),
)
"""The kinds of requests to Kubernetes that can be spoiled."""


DELETED = "deletionTimestamp"
ANSWERED = 600.0
"""Seconds of the clock within which a member answers again once all is mended."""


@dataclass
class HappeningToMembers(Happening):
    """The events of one story of OpenSearch while it goes on."""

    REQUESTS = REQUESTS

    cluster: CalledCluster
    story: OpenSearchStory
    foreign: Callable[..., None]
    """Called with members that an event has just taken."""
    person: Person
    edited: dict[str, int] = field(default_factory=dict)
    """The indices whose number of replicas a person has set, each with the number that it had."""
    bared: set[str] = field(default_factory=set)
    """Those from which a person has taken every replica during the upgrade, also the one of the run."""

    @property
    def members(self) -> list[str]:
        """The names of the members."""
        return [pod for pool in self.story.pools for pod in pool.pods(self.cluster.name)]

    def happen(self, event: Event) -> None:
        """Let one event happen. Raises Killed: it is the end of the controller."""
        KINDS[event.kind](self, event)

    def mend(self) -> None:
        """End everything that was broken, and take back what people have done in between."""
        super().mend()
        self.mend_places()
        until("A member to answer", self._is_answered, ANSWERED)
        for member in self.members:
            self.servers.resize(member, AVAILABLE)
            self.servers.keeps_up(member)
        if self.edited:
            until("The members to be there", self.are_there, ANSWERED)
        for name, number in self.edited.items():
            self.set_replicas(name, number)
        self.edited.clear()
        self.cluster.ask(f"/{WITHOUT_REPLICAS}?ignore_unavailable=true", "DELETE")
        self.cluster.ask("/_cluster/settings", "PUT", {"persistent": dict.fromkeys(BY_PERSON)})

    def set_replicas(self, name: str, number: int) -> None:
        """Set the number of replicas of an index, as a person does."""
        self.cluster.ask(f"/{name}/_settings", "PUT", {"index": {"number_of_replicas": number}})
        self.bared |= set() if number else {name}

    def _is_answered(self) -> bool:
        """Whether a ready member answers; for a time after the last fault there may be none."""
        try:
            self.cluster.ask("/")
        except urllib3.exceptions.HTTPError:
            return False
        return True

    def are_there(self) -> bool:
        """Whether no pod is about to go, whose copies a smaller number of replicas might leave as the only ones."""
        pods = self.world.sandbox.kubernetes.server.store.each(PODS, self.cluster.namespace)
        whole = {each["metadata"]["name"] for each in pods if is_ready(each) and DELETED not in each["metadata"]}
        return whole >= {*self.members}

    def mend_places(self) -> None:
        """End what was broken of the places that members are at, and of what is between them and the controller."""
        for node in NODES:
            self.cordon(node, wanted=False)
        self.without_quota()

    def without_quota(self) -> None:
        """Remove the quota that a person has made, if there is one."""
        with self.world.sandbox.client() as api, contextlib.suppress(client.ApiException):
            client.CoreV1Api(api).delete_namespaced_resource_quota(
                TIGHT, self.cluster.namespace, _preload_content=False
            )

    def member_of(self, event: Event) -> str:
        """The member that the event is about."""
        return self.members[event.subject % len(self.members)]

    def cordon(self, node: str, *, wanted: bool) -> None:
        """Cordon a Kubernetes node as a person does, or end that."""
        with self.world.sandbox.client() as api:
            client.CoreV1Api(api).patch_node(node, {"spec": {"unschedulable": wanted}})

    @property
    def servers(self) -> Servers:
        """The members' own cluster."""
        (servers,) = self.world.sandbox.members.clusters_in(self.cluster.namespace)
        return servers

    def correct_images(self, version: str) -> None:
        """Set the image of a version in every manifest, as a person does."""
        for pool in self.story.pools:
            self.set_image(pool, version, "kubectl-patch")

    def set_image(self, pool: Pool, version: str, manager: str) -> None:
        """Set the image of a version in the manifest of a pool."""
        image = {"name": self.story.product.name, "image": f"{self.story.product.name}:{version}"}
        body = {"spec": {"template": {"spec": {"containers": [image]}}}}
        with self.world.sandbox.client() as api:
            client.AppsV1Api(api).patch_namespaced_stateful_set(
                f"{self.cluster.name}-{pool.name}", self.cluster.namespace, body, field_manager=manager
            )

    def mend_later(self, event: Event, member: str) -> None:
        """End what an event does to a member, when it is over."""
        self.later(event, lambda: self.world.sandbox.faults.mend(self.cluster.namespace, member))


BY_PERSON = {
    "indices.recovery.max_bytes_per_sec": "111mb",
    "cluster.routing.allocation.enable": "all",
    "cluster.max_shards_per_node": 2000,
}
"""The settings that a person sets."""
WITHOUT_REPLICAS = "without-replicas"
"""The index that a person makes."""
TIGHT = "tight"
"""The quota that a person makes."""


def _never_ready(here: HappeningToMembers, event: Event) -> None:
    member = here.member_of(event)
    here.world.sandbox.faults.never_ready(here.cluster.namespace, member)
    here.foreign(member)
    here.mend_later(event, member)


def _process_killed(here: HappeningToMembers, event: Event) -> None:
    member = here.member_of(event)
    with contextlib.suppress(KeyError):  # it is not there
        here.world.sandbox.faults.kill(here.cluster.namespace, member)
        here.foreign(member)


def _crash_loop(here: HappeningToMembers, event: Event) -> None:
    member = here.member_of(event)
    here.world.sandbox.faults.crash_loop(here.cluster.namespace, member)
    _process_killed(here, event)
    here.mend_later(event, member)


def _slow_stop(here: HappeningToMembers, event: Event) -> None:
    here.world.sandbox.faults.slow_stop(here.cluster.namespace, here.member_of(event), event.seconds or 60.0)


def _node_dead(here: HappeningToMembers, event: Event) -> None:
    node = [*NODES][event.subject % len(NODES)]
    here.world.sandbox.faults.node_dead(node)
    here.foreign(*here.members)
    here.later(event, lambda: here.world.sandbox.faults.mend_node(node))


def _evicted(here: HappeningToMembers, event: Event) -> None:
    with here.world.sandbox.client() as api, contextlib.suppress(client.ApiException):
        client.CoreV1Api(api).delete_namespaced_pod(here.member_of(event), here.cluster.namespace)


def setting_by_person(here: HappeningToMembers, event: Event) -> None:
    """A person sets a setting."""
    name = [*BY_PERSON][event.subject % len(BY_PERSON)]
    here.cluster.ask("/_cluster/settings", "PUT", {"persistent": {name: BY_PERSON[name]}})


def _image_by_other_manager(here: HappeningToMembers, event: Event) -> None:
    pool = here.story.pools[event.subject % len(here.story.pools)]
    here.set_image(pool, here.story.way[0], "argocd-controller")


def index_without_replicas(here: HappeningToMembers, _event: Event) -> None:
    """A person makes an index of which each shard has one copy."""
    settings = {"settings": {"number_of_shards": 1, "number_of_replicas": 0}}
    here.cluster.ask(f"/{WITHOUT_REPLICAS}", "PUT", settings)


def replicas_by_person(here: HappeningToMembers, event: Event) -> None:
    """A person, or the management of indices, sets the number of replicas of an index."""
    index = here.story.indices[event.subject % len(here.story.indices)]
    here.edited[index.name] = index.replicas
    here.set_replicas(index.name, event.subject % 3)


def _controllers_away(here: HappeningToMembers, event: Event) -> None:
    here.world.sandbox.faults.controllers_away(event.seconds or 30.0)


def _cordoned(here: HappeningToMembers, event: Event) -> None:
    node = [*NODES][event.subject % len(NODES)]
    here.cordon(node, wanted=True)
    here.later(event, lambda: here.cordon(node, wanted=False))


def disk_full(here: HappeningToMembers, event: Event) -> None:
    """The disk of a member is full."""
    member = here.member_of(event)
    here.servers.resize(member, available=1)
    here.later(event, lambda: here.servers.resize(member, AVAILABLE))


def _lock_removed(here: HappeningToMembers, _event: Event) -> None:
    with here.world.sandbox.client() as api:
        client.CoordinationV1Api(api).delete_collection_namespaced_lease(here.cluster.namespace)


def _record_removed(here: HappeningToMembers, _event: Event) -> None:
    with here.world.sandbox.client() as api:
        client.CoreV1Api(api).delete_collection_namespaced_config_map(here.cluster.namespace)


def _stale_member(here: HappeningToMembers, event: Event) -> None:
    member = here.member_of(event)
    here.servers.lags(member)
    here.world.calling.clock.later(event.seconds or LONGEST, lambda: here.servers.keeps_up(member))


def _quota(here: HappeningToMembers, event: Event) -> None:
    with here.world.sandbox.client() as api:
        core, namespace = client.CoreV1Api(api), here.cluster.namespace
        pods = len(core.list_namespaced_pod(namespace).items)
        claims = len(core.list_namespaced_persistent_volume_claim(namespace).items)
        # One small pod more may prove that an image can be pulled.
        hard = {"pods": str(pods + 1)} if event.subject % 2 else {"persistentvolumeclaims": str(claims)}
        spec = client.V1ResourceQuotaSpec(hard=hard)
        quota = client.V1ResourceQuota(metadata=client.V1ObjectMeta(name=TIGHT), spec=spec)
        with contextlib.suppress(client.ApiException):  # there is one already
            core.create_namespaced_resource_quota(namespace, quota)
    here.later(event, here.without_quota)


def settings_cleared(here: HappeningToMembers, _event: Event) -> None:
    """A person removes every setting of allocation."""
    cleared = {"cluster.routing.allocation.enable": None}
    here.cluster.ask("/_cluster/settings", "PUT", {"persistent": cleared, "transient": cleared})


KINDS: Mapping[str, Callable[[HappeningToMembers, Event], None]] = {
    **OF_EVERY_SYSTEM,
    **OF_PERSON,
    "process_killed": _process_killed,
    "never_ready": _never_ready,
    "crash_loop": _crash_loop,
    "slow_stop": _slow_stop,
    "node_dead": _node_dead,
    "evicted": _evicted,
    "setting_by_person": setting_by_person,
    "image_by_other_manager": _image_by_other_manager,
    "index_without_replicas": index_without_replicas,
    "replicas_by_person": replicas_by_person,
    "controllers_away": _controllers_away,
    "cordoned": _cordoned,
    "disk_full": disk_full,
    "lock_removed": _lock_removed,
    "record_removed": _record_removed,
    "settings_cleared": settings_cleared,
    "stale_member": _stale_member,
    "quota": _quota,
}
"""The kinds of events."""
