"""Share managers of RWX volumes (`controller/share_manager_controller.go`).

The volume is attached where the pod of its share manager is, by a ticket of it: engine and frontend sit with that pod.
That of a faulted volume ends, with its ticket (`isShareManagerRequiredForVolume`). The next one may come to another
Kubernetes node, and does so here.
"""

from __future__ import annotations

from tests.sandbox.kubernetes.kinds import NODES as KUBERNETES_NODES
from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.kubernetes.objects import Json, Kind, condition_of, is_ready, owner_of
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.kinds import ATTACHMENTS, NAMESPACE, NODES, SHARES, VOLUMES

IMAGE = "longhornio/longhorn-share-manager:v1.12.0"
_PREFIX = "share-manager-"


def share_pod(share: Json, node: str) -> Json:
    """The pod of a share manager."""
    name = f"{_PREFIX}{share['metadata']['name']}"
    metadata: Json = {"name": name, "namespace": NAMESPACE, "labels": {"longhorn.io/component": "share-manager"}}
    metadata["ownerReferences"] = [owner_of(SHARES, share)]
    containers = [{"name": "share-manager", "image": share["spec"]["image"]}]
    return {"metadata": metadata, "spec": {"containers": containers, "nodeName": node, "restartPolicy": "Never"}}


class Shares:
    """A share manager whose pod is gone gets another one, on a Kubernetes node that takes pods."""

    def __init__(self, shared: Shared) -> None:
        self._shared, self._objects = shared, shared.objects
        self.queue = shared.queue(self._look)

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of a change."""
        name = item["metadata"]["name"]
        if kind in {SHARES, VOLUMES} and not gone:
            self.queue.add(name)
        elif kind == PODS and name.startswith(_PREFIX):
            self.queue.add(name.removeprefix(_PREFIX))

    def _look(self, name: str) -> None:
        share = self._objects.get(SHARES, name)
        if share is None:
            return
        pod = self._objects.get(PODS, f"{_PREFIX}{name}")
        volume = self._objects.get(VOLUMES, name) or {}
        if volume.get("status", {}).get("robustness") == "faulted":
            self._ticket(name, "")
            self._objects.delete(PODS, f"{_PREFIX}{name}")
            self._tell(name, "stopping", "")
        elif pod is None:
            node = self._place()
            if node:
                self._objects.create(PODS, share_pod(share, node))
                self._ticket(name, node)
            self._tell(name, "starting", "")
        elif pod["status"].get("phase") in {"Succeeded", "Failed"}:
            self._objects.delete(PODS, pod["metadata"]["name"])
            self._tell(name, "error", "")
        elif "deletionTimestamp" in pod["metadata"]:
            self._tell(name, "stopping", "")
        else:
            ready = is_ready(pod)
            self._ticket(name, pod["spec"]["nodeName"])
            self._tell(name, "running" if ready else "starting", pod["status"].get("podIP", "") if ready else "")

    def _place(self) -> str:
        for node in self._objects.all(NODES):
            name = str(node["metadata"]["name"])
            machine = self._objects.get(KUBERNETES_NODES, name)
            if machine is None or machine["spec"].get("unschedulable"):
                continue
            if condition_of(machine, "Ready").get("status") == "True" and not self._shared.dead(name):
                return name
        return ""

    def _ticket(self, name: str, node: str) -> None:
        key = f"share-manager-controller-{name}"

        def change(item: Json) -> None:
            tickets = dict(item["spec"].get("attachmentTickets") or {})
            tickets.pop(key, None)
            if node:
                tickets[key] = {"id": key, "type": "share-manager-controller", "nodeID": node, "generation": 0}
            item["spec"]["attachmentTickets"] = tickets

        self._objects.change(ATTACHMENTS, name, change)

    def _tell(self, name: str, state: str, address: str) -> None:
        told: Json = {"state": state, "endpoint": f"nfs://{address}/{name}" if address else "", "currentImage": IMAGE}
        self._objects.status(SHARES, name, lambda status: status.update(told))
