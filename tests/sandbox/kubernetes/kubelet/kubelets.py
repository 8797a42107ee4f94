"""All kubelets: each pod that is bound to a Kubernetes node has a worker."""

from __future__ import annotations

from tests.lab.kubelet.commands import ERRORS, OUTPUT, PROTOCOLS, STATUS, messages_of, without_program
from tests.sandbox.kubernetes.controllers.nodes import Nodes
from tests.sandbox.kubernetes.controllers.work import Durations, Place
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, PODS, SECRETS
from tests.sandbox.kubernetes.kubelet.behaviour import Behaviour, Switches
from tests.sandbox.kubernetes.kubelet.commands import NoSuchProgram
from tests.sandbox.kubernetes.kubelet.images import Images
from tests.sandbox.kubernetes.kubelet.pod import PodWorker
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Resources
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.kubernetes.subresources import not_running
from tests.sandbox.web import Answer, Messages, Request


class Kubelets:
    """Follows all pods."""

    def __init__(self, resources: Resources, nodes: Nodes, behaviour: Behaviour, durations: Durations) -> None:
        self._resources, self._nodes, self._behaviour, self._durations = resources, nodes, behaviour, durations
        self.switches = Switches()
        self._workers: dict[str, PodWorker] = {}
        self._images: dict[str, Images] = {}
        resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind in {SECRETS, CONFIG_MAPS}:
            for each in self._workers.values():
                each.mounts.changed(change)
        if change.kind != PODS:
            return
        uid = change.item["metadata"]["uid"]
        worker = self._workers.get(uid)
        if change.type == "DELETED":
            if worker is not None:
                del self._workers[uid]
                worker.gone()
        elif worker is not None:
            pod = change.item
            # Passed on later: a kubelet hears of a change by its watch, and never in the middle of its own writes.
            self._resources.store.clock.later(0.0, lambda: worker.changed(pod) if uid in self._workers else None)
        elif change.item["spec"].get("nodeName"):
            self._begin(change.item)

    def _begin(self, pod: Json) -> None:
        node = pod["spec"]["nodeName"]
        ended = pod["status"].get("phase") in {"Succeeded", "Failed"}
        if node in self._nodes.dead or ended:
            return
        images = self._images.setdefault(node, Images(self._resources, node))
        worker = PodWorker(self._resources, self._behaviour, self.switches, self._durations, images, pod)
        self._workers[worker.uid] = worker
        self._resources.store.clock.later(self._durations.control, worker.begin)

    def worker(self, pod: Place) -> PodWorker | None:
        """The worker of the pod of this namespace and name."""
        return next((each for each in self._workers.values() if each.place == pod), None)

    def read(self, pod: Json, path: str) -> bytes | None:
        """The content of a file that the first container of a pod has mounted now; None if there is none."""
        worker = self._workers.get(pod["metadata"]["uid"])
        return worker.mounts.file(pod["spec"]["containers"][0], path) if worker else None

    def stream(self, pod: Json, container: str, request: Request) -> Answer:
        """Run a command in a container, and give all of its messages at once."""
        worker = self._workers.get(pod["metadata"]["uid"])
        chosen = [each for each in worker.containers if each.name == container and each.running] if worker else []
        if not chosen or worker is None or worker.frozen:
            return not_running(container)
        words = [value for name, value in request.repeated if name == "command"]
        try:
            told = messages_of(words, chosen[0].execute(words))
        except NoSuchProgram:
            told = [without_program(words[0])]
        wanted = [channel for name, channel in (("stdout", OUTPUT), ("stderr", ERRORS)) if name in request.query]
        first = wanted[0] if wanted else STATUS
        heard = [first, *(each for each in told if each[:1] in (STATUS, *wanted))]
        return Messages(101, protocols=PROTOCOLS, messages=heard)

    def obey(self, pod: Place) -> None:
        """Have a pod look at its switches."""
        worker = self.worker(pod)
        if worker is not None:
            worker.obey()

    def let_daemons(self, node: str, *, ready: bool) -> None:
        """Keep the pods of DaemonSets on a Kubernetes node from being Ready, or let them be."""
        (self.switches.unready_daemons.discard if ready else self.switches.unready_daemons.add)(node)
        for worker in [each for each in self._workers.values() if each.node == node]:
            worker.obey()

    def node_dead(self, node: str) -> None:
        """Take a Kubernetes node's power away."""
        self._nodes.die(node)
        for worker in [each for each in self._workers.values() if each.node == node]:
            worker.freeze()

    def mend_node(self, node: str) -> None:
        """Give a Kubernetes node its power back."""
        if node not in self._nodes.dead:
            return
        self._nodes.revive(node)
        for worker in [each for each in self._workers.values() if each.node == node]:
            worker.thaw()
        for pod in [*self._resources.store.each(PODS)]:
            if pod["spec"].get("nodeName") == node and pod["metadata"]["uid"] not in self._workers:
                self._begin(pod)
