"""One pod on its Kubernetes node, from its first sight to its final deletion."""

from __future__ import annotations

from typing import Any

from tests.lab.kubelet.status import PodView, Waiting, pod_status
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.controllers.work import Durations, Recorder
from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.kubernetes.kubelet.behaviour import Behaviour, Switches
from tests.sandbox.kubernetes.kubelet.container import Container
from tests.sandbox.kubernetes.kubelet.images import Images
from tests.sandbox.kubernetes.kubelet.mounts import Mounts
from tests.sandbox.kubernetes.kubelet.needs import missing_volume
from tests.sandbox.kubernetes.objects import Json, Refused, controller_of, seconds_of, timestamp
from tests.sandbox.kubernetes.patches import strategic
from tests.sandbox.kubernetes.resources import Resources, Writing

AGAIN = 0.5
_STATUS = Writing(manager="kubelet", subresource="status")
_EARLY = "Pod was active on the node longer than the specified deadline"


class PodWorker:
    """`changed` and `gone` pass on what the API server says of its pod; `freeze` is the end of its node's power."""

    def __init__(
        self,
        resources: Resources,
        behaviour: Behaviour,
        switches: Switches,
        durations: Durations,
        images: Images,
        pod: Json,
    ) -> None:
        self.resources, self.behaviour, self.switches, self.durations = resources, behaviour, switches, durations
        self.images, self.json = images, pod
        self.uid: str = pod["metadata"]["uid"]
        self.mounts = Mounts(resources, pod, self._until_mounted)
        self.place = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        self.node: str = pod["spec"]["nodeName"]
        self._events = Recorder(resources, "kubelet", self.node)
        policy = pod["spec"].get("restartPolicy", "Always")
        self.containers = [Container(self, each, policy, init=False) for each in pod["spec"]["containers"]]
        before = "Never" if policy == "Never" else "OnFailure"
        self.init_containers = [
            Container(self, each, before, init=True) for each in pod["spec"].get("initContainers", [])
        ]
        self.stopping = self.frozen = self._over = self._final = False
        self._initialized = not self.init_containers
        self._started = ""
        self._why: Json = {}
        self._stops = 0

    @property
    def clock(self) -> Clock:
        """The time of everything here."""
        return self.resources.store.clock

    @property
    def is_held(self) -> bool:
        """Whether a switch keeps its containers from being Ready."""
        of_daemons = (controller_of(self.json) or {}).get("kind") == "DaemonSet"
        return self.place in self.switches.never_ready or (of_daemons and self.node in self.switches.unready_daemons)

    def now(self) -> str:
        """The present time, as a status shows it."""
        return timestamp(self.clock.now())

    def report(self, type_: str, reason: str, message: str) -> None:
        """An event about the pod."""
        if not self.frozen:
            self._events.report(PODS, self.json, type_, reason, message)

    def _until_mounted(self) -> float:
        return self.switches.slow_mounts.get(self.place, self.durations.mounted)

    def begin(self) -> None:
        """Start to live, or only to end."""
        self._started = self.now()
        self.write()
        for container in self.containers:
            container.ended_for_good = self._one_ended
        deadline = self.json["spec"].get("activeDeadlineSeconds")
        if deadline:
            self.clock.later(float(deadline), self._too_long)
        self.clock.later(self.durations.prepare, self._prepare)
        self.changed(self.json)

    def _prepare(self) -> None:
        if self.stopping or self.frozen:
            return
        missing = missing_volume(self.resources, self.place[0], self.json["spec"])
        if missing:
            self.report("Warning", "FailedMount", missing)
            self.clock.later(AGAIN, self._prepare)
            return
        self.mounts.mount()
        self._initialize(0)

    def _initialize(self, number: int) -> None:
        """Run the init containers from this one on, then the others."""
        if number < len(self.init_containers):
            container = self.init_containers[number]
            container.ended_for_good = lambda: self._initialize(number + 1)
            container.begin()
            return
        self._initialized = True
        self.write()
        for container in self.containers:
            container.begin()

    def _one_ended(self) -> None:
        if all(each.over for each in self.containers) and not self.stopping:
            self._end()

    def _too_long(self) -> None:
        if not (self._final or self.stopping or self.frozen):
            self._why = {"reason": "DeadlineExceeded", "message": _EARLY}
            self._stop(float(self.json["spec"].get("terminationGracePeriodSeconds", 30)))

    def changed(self, pod: Json) -> None:
        """Take the pod as the API server has it now."""
        before, self.json = self.json, pod
        if self.frozen:
            return
        if "deletionTimestamp" in pod["metadata"]:
            self._asked_to_stop()
        elif before["spec"] != pod["spec"] and not self.stopping:
            for container, spec in zip(self.containers, pod["spec"]["containers"], strict=True):
                container.change(spec)

    def _asked_to_stop(self) -> None:
        if self._final:
            self.clock.later(self.durations.control, self._delete)
            return
        left = seconds_of(self.json["metadata"]["deletionTimestamp"]) - self.clock.now()
        self._stop(max(left, 0.0) if self.json["metadata"].get("deletionGracePeriodSeconds") else 0.0)

    def _stop(self, grace: float) -> None:
        if self.stopping:
            return
        self.stopping = True
        everything = [*self.init_containers, *self.containers]
        self._stops = len(everything)
        for container in everything:
            container.stop(grace, self._one_stopped)

    def _one_stopped(self) -> None:
        self._stops -= 1
        if not self._stops and not self.frozen:
            self._end()

    def _end(self) -> None:
        """Nothing runs any more, and nothing will: the last status comes before the final deletion."""
        self._final = True
        self.write()
        if "deletionTimestamp" in self.json["metadata"]:
            self.clock.later(self.durations.control, self._delete)

    def _delete(self) -> None:
        if self._over or self.frozen:
            return
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": self.uid}}
        try:
            self.resources.delete(PODS, *self.place, options)
        except Refused as error:
            if error.code not in {404, 409}:
                raise

    def gone(self) -> None:
        """The API server has forgotten the pod: what still runs is ended at once."""
        self._over = True
        for container in (*self.init_containers, *self.containers):
            container.lose()

    def freeze(self) -> None:
        """The Kubernetes node has no power any more."""
        for container in (*self.init_containers, *self.containers):
            container.lose()
        self.frozen = True

    def thaw(self) -> None:
        """The Kubernetes node has power again."""
        self.frozen = self.stopping = False
        if self._over or self._final:
            return
        if "deletionTimestamp" in self.json["metadata"]:
            self._end_lost()
            return
        for container in self.containers:
            container.recover()

    def _end_lost(self) -> None:
        for container in self.containers:
            container.state = container.state.__class__(container.name, container.spec["image"], Waiting("Unknown"))
        self._stop(0.0)

    def obey(self) -> None:
        """Do what the switches ask for now."""
        for container in self.containers:
            container.obey()

    def kill(self) -> None:
        """End all processes at once."""
        for container in self.containers:
            container.kill()

    def write(self) -> None:
        """Write the status, if the pod is still there."""
        if self.frozen or self._over:
            return
        view = PodView(
            address=self.behaviour.address(*self.place),
            node_address=self.node,
            start_time=self._started,
            initialized=self._initialized,
            containers=[each.state for each in self.containers],
            init_containers=[each.state for each in self.init_containers],
            final=self._final,
        )

        def change(item: Json) -> Any:
            if item["metadata"]["uid"] != self.uid:
                return item
            known = {each["type"]: each for each in item.get("status", {}).get("conditions", [])}
            status = {**pod_status(view, item, known, self.now()), **self._why}
            lists = ("containerStatuses", "initContainerStatuses")
            kept = {key: value for key, value in item.get("status", {}).items() if key not in lists}
            return {**item, "status": strategic(kept, status)}

        try:
            self.resources.change(PODS, *self.place, change, _STATUS)
        except Refused as error:
            if error.code != 404:
                raise
