"""The static pods of the control plane, the quorum of etcd, and whether the API answers behind its address."""

from __future__ import annotations

from tests.sandbox.kubeadm import building
from tests.sandbox.kubeadm.building import SYSTEM
from tests.sandbox.kubeadm.description import API_SERVER, ETCD, Described
from tests.sandbox.kubernetes.cluster import Kubernetes
from tests.sandbox.kubernetes.kinds import NODES, PODS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.web import Answer, Handler, Pending, Request

FIRST_MEMBER = 8_000_000_000_000_000_001
"""The number of the first member of etcd: numbers of members have 64 bits."""


class ControlPlane:
    """The static pods by machine. `images` has what the manifest of each names, whether it is up or not."""

    def __init__(self, kubernetes: Kubernetes, described: Described) -> None:
        self._kubernetes, self.described = kubernetes, described
        self._resources = kubernetes.server.resources
        components = building.all_components(described.version, external_etcd=described.external_etcd)
        self.images = {name: dict(components) for name in described.control_plane}
        self.away: set[tuple[str, str]] = set()
        """Machine and component of each static pod that is down."""
        self.lost: list[str] = []
        """The members of etcd whose machines are gone, and that it still counts."""
        self.size = described.etcd_size
        """The bytes of the database of etcd."""
        self.least_voters = len(self.images)
        """The fewest members of etcd that were up at once."""
        self.outages = 0
        """The number of times that the API went away behind its address."""
        self.elections = 0
        """The number of times that the leader of etcd went without having handed over."""
        self.hands_over = True
        """Whether a leader can hand over."""
        self._answered = True
        self.leader = described.control_plane[0]
        for name, images in self.images.items():
            for component, image in images.items():
                self._show(name, component, image)

    @property
    def voters(self) -> list[str]:
        """The machines whose member of etcd is up."""
        return [name for name in self.images if (name, ETCD) not in self.away]

    @property
    def counted(self) -> list[Json]:
        """All members of etcd, as `etcdctl member list` shows them."""
        names = [*self.images, *self.lost]
        return [
            {"ID": FIRST_MEMBER + number, "name": name, "peerURLs": [f"https://{name}:2380"], "clientURLs": []}
            for number, name in enumerate(names)
        ]

    @property
    def has_quorum(self) -> bool:
        """Whether most members of etcd are up."""
        return 2 * len(self.voters) > len(self.images) + len(self.lost)

    @property
    def answers(self) -> bool:
        """Whether the API answers behind its address."""
        names = [*self.images] if self.described.balanced else [*self.images][:1]
        return self.has_quorum and any((name, API_SERVER) not in self.away for name in names)

    def door(self, handler: Handler) -> Handler:
        """The address of the API: a connection is refused while it is away."""

        def answer(request: Request) -> Answer | Pending:
            if not self.answers:
                raise ConnectionRefusedError
            return handler(request)

        return answer

    def member(self, name: str) -> int:
        """The number of a member of etcd."""
        return FIRST_MEMBER + [*self.images].index(name)

    def hand_over(self, name: str, number: int) -> bool:
        """Whether the member of a machine has made the one of this number the leader of etcd."""
        found = [each for each in self.voters if self.member(each) == number]
        if not found or self.leader != name or not self.hands_over:
            return False
        self.leader = found[0]
        return True

    def take_down(self, name: str, *components: str) -> None:
        """Static pods of a machine end."""
        for component in components or self.images[name]:
            self.away.add((name, component))
            if self._resources.store.kept(PODS, SYSTEM, f"{component}-{name}") is not None:
                options = {"gracePeriodSeconds": 0}
                self._resources.delete(PODS, SYSTEM, f"{component}-{name}", options)
        self._judge()

    def bring_up(self, name: str, *components: str) -> None:
        """Static pods of a machine start, with the images that their manifests name."""
        for component in components or self.images[name]:
            self.away.discard((name, component))
            if self._resources.store.kept(PODS, SYSTEM, f"{component}-{name}") is None:
                self._show(name, component, self.images[name][component])
        self._judge()

    def version_of(self, name: str) -> str:
        """The version of the API server of a machine, such as v1.36.1."""
        return self.images[name][API_SERVER].rpartition(":")[2]

    def is_all_of(self, version: str) -> bool:
        """Whether the API server of each machine is of a version such as v1.36.1."""
        return all(self.version_of(name) == version for name in self.images)

    def _judge(self) -> None:
        if self.leader not in self.voters and self.has_quorum:
            self.leader, self.elections = self.voters[0], self.elections + 1
        self.least_voters = min(self.least_voters, len(self.voters))
        if self._answered and not self.answers:
            self.outages += 1
        self._answered = self.answers

    def _show(self, name: str, component: str, image: str) -> None:
        """Make the mirror pod of a static pod."""
        node = self._resources.get(NODES, "", name)
        self._resources.create(PODS, SYSTEM, building.static_pod(component, image, node))
