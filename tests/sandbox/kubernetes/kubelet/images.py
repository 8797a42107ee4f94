"""The images on a Kubernetes node."""

from __future__ import annotations

from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, Refused
from tests.sandbox.kubernetes.resources import Resources, Writing

_SIZE = 300_000_000


class Images:
    """The images that one kubelet has pulled. It adds each to its status, where that names images at all."""

    def __init__(self, resources: Resources, node: str) -> None:
        self._resources, self._node = resources, node
        self._pulled: set[str] = set()

    def __contains__(self, image: str) -> bool:
        return image in self._pulled

    def add(self, image: str) -> None:
        """Take note of an image that was pulled."""
        self._pulled.add(image)
        found = self._resources.store.get(NODES, "", self._node)
        listed = found["status"].get("images") if found is not None else None
        if not listed or any(image in each["names"] for each in listed):
            return

        def tell(item: Json) -> None:
            item["status"]["images"] = [*listed, {"names": [image], "sizeBytes": _SIZE}]

        try:
            self._resources.change(NODES, "", self._node, tell, Writing("kubelet", subresource="status"))
        except Refused:
            # The Kubernetes node has gone.
            return
