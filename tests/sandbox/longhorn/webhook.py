"""Longhorn's admission webhook, as far as users meet it (`webhook/resources` of longhorn-manager).

It does not look at `engineNodeID`: the name of a Kubernetes node that does not exist is accepted.
"""

from __future__ import annotations

import json

from tests.sandbox.kubernetes.objects import Json, Kind, Refused
from tests.sandbox.longhorn.description import SETTINGS as KNOWN
from tests.sandbox.longhorn.kinds import (
    BACKING_IMAGES,
    ENGINES,
    FRONTENDS,
    GROUP,
    NODES,
    REPLICAS,
    SETTINGS,
    SNAPSHOTS,
    VOLUMES,
)
from tests.sandbox.longhorn.objects import Objects

_READ_ONLY = frozenset({"default-instance-manager-image", "default-engine-image", "current-longhorn-version"})
_NUMBERS = frozenset({"replica-replenishment-wait-interval", "concurrent-replica-rebuild-per-node-limit"})
_POLICIES = (
    "block-for-eviction",
    "block-for-eviction-if-contains-last-replica",
    "block-if-contains-last-replica",
    "allow-if-replica-is-stopped",
    "always-allow",
)
_MOST_REPLICAS = 20
"""`types.ValidateReplicaCount`."""
BY_LONGHORN = f"{GROUP}/update-setting-from-longhorn"
"""The annotation with which Longhorn itself writes a setting that is read-only to all others."""


def denied(message: str) -> Refused:
    """A refusal in the words of the API server."""
    text = f'admission webhook "validator.longhorn.io" denied the request: {message}'
    return Refused(422, "Invalid", text)


class Webhook:
    """An `Admission` of the API server in memory."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self.refusals: list[tuple[Kind, str, int]] = []
        """Writes to refuse on purpose: the kind, the message, how many times."""

    def __call__(self, kind: Kind, before: Json | None, after: Json | None) -> None:
        """Raises Refused."""
        if kind.group != GROUP:
            return
        self._refuse_on_purpose(kind)
        if after is not None and "deletionTimestamp" in after["metadata"]:
            return
        if kind == NODES and before is not None and after is not None:
            _node(before, after)
        elif kind == VOLUMES and after is not None:
            _volume(before, after)
        elif kind == SETTINGS:
            _setting(before, after)
        elif kind == SNAPSHOTS and after is not None:
            self._snapshot(before, after)
        elif kind == REPLICAS and after is None and before is not None:
            self._replica_goes(before)
        elif before is None and after is not None:
            self._made(kind, after)

    def _refuse_on_purpose(self, kind: Kind) -> None:
        for number, (wanted, message, times) in enumerate(self.refusals):
            if wanted == kind:
                if times > 1:
                    self.refusals[number] = (wanted, message, times - 1)
                else:
                    del self.refusals[number]
                raise denied(message)

    def _made(self, kind: Kind, after: Json) -> None:
        if kind == BACKING_IMAGES and after["spec"].get("dataEngine") == "v2":
            raise denied("v2 backing image is not supported")
        if kind not in {ENGINES, FRONTENDS}:
            return
        if self._objects.get(VOLUMES, after["spec"].get("volumeName", "")) is None:
            raise denied(f"volume does not exist for {'engine' if kind == ENGINES else 'engine frontend'}")

    def _snapshot(self, before: Json | None, after: Json) -> None:
        """The mutator gives label, owner and finalizer; the volume never changes."""
        name = after["spec"].get("volume", "")
        if before is not None:
            if before["spec"].get("volume") != name:
                raise denied("spec.volume field is immutable")
            return
        volume = self._objects.get(VOLUMES, name)
        if not name:
            raise denied("spec.volume is required")
        if volume is None:
            raise denied(f'failed to get volume {name}: volume.longhorn.io "{name}" not found')
        metadata = after["metadata"]
        metadata["labels"] = {**metadata.get("labels", {}), "longhornvolume": name}
        owner = {"apiVersion": f"{GROUP}/v1beta2", "kind": "Volume", "name": name}
        metadata.setdefault("ownerReferences", [{**owner, "uid": volume["metadata"]["uid"]}])
        metadata["finalizers"] = sorted({*metadata.get("finalizers", []), GROUP})

    def _replica_goes(self, replica: Json) -> None:
        """The last healthy replica of a volume stays (`validateReplicaDeletion`)."""
        name, volume = replica["metadata"]["name"], replica["spec"].get("volumeName", "")
        if self._objects.get(VOLUMES, volume) is None:
            return
        healthy = [
            each["metadata"]["name"]
            for each in self._objects.of_volume(REPLICAS, volume)
            if each["spec"].get("healthyAt")
            and not each["spec"].get("failedAt")
            and not each["spec"].get("evictionRequested")
        ]
        if healthy == [name]:
            raise denied(
                f"no other healthy replica available for volume {volume}, cannot delete replica {name} since it may "
                f"still contain data for recovery"
            )


def _node(before: Json, after: Json) -> None:
    name, spec = before["metadata"]["name"], after["spec"]
    if spec.get("evictionRequested") and spec.get("allowScheduling"):
        raise denied(
            f"need to disable scheduling on node {name} for node eviction, or cancel eviction to enable scheduling on "
            f"this node"
        )
    disks, known = before["spec"].get("disks") or {}, before.get("status", {}).get("diskStatus") or {}
    if set(disks) != set(known):
        text = f"spec and status of disks on node {name} are being syncing and please retry later."
        refused = denied(text)
        raise Refused(403, "Forbidden", refused.message)
    if not spec.get("name"):
        raise denied("node name is invalid. You can't have a Spec.Name empty")


def _volume(before: Json | None, after: Json) -> None:
    name, spec = after["metadata"]["name"], after["spec"]
    copies = spec.get("numberOfReplicas", 0)
    if not 1 <= copies <= _MOST_REPLICAS:
        raise denied("replica count value must between 1 to 20")
    if spec.get("dataLocality") == "strict-local" and copies != 1:
        raise denied("number of replica count should be 1 when data locality is strict-local")
    if before is None:
        return
    there = before["spec"]
    if there.get("dataEngine") and there["dataEngine"] != spec.get("dataEngine"):
        raise denied(f"changing data engine for volume {name} is not supported")
    if int(spec.get("size", 0)) < int(there.get("size", 0)):
        message = f"shrinking volume {name} size from {there['size']} to {spec.get('size')} is not supported"
        raise denied(message)
    localities = {there.get("dataLocality"), spec.get("dataLocality")}
    attached = before.get("status", {}).get("state") != "detached"
    if attached and len(localities) > 1 and "strict-local" in localities:
        text = "data locality cannot be converted between strict-local and other modes when volume is not detached"
        raise denied(text)


def _setting(before: Json | None, after: Json | None) -> None:
    found = after or before or {}
    name, value = found["metadata"]["name"], str(found.get("value", ""))
    if after is None:
        raise denied(f"setting {name} can be modified but not deleted")
    if before is None and name not in KNOWN:
        raise denied(f"setting {name} does not exist")
    told = {**((before or {}).get("metadata", {}).get("annotations") or {})}
    told |= after["metadata"].get("annotations") or {}
    if before is not None and before.get("value") != value and name in _READ_ONLY and BY_LONGHORN not in told:
        raise denied(f"setting {name} is read-only")
    default = KNOWN.get(name, "")
    if name in _NUMBERS and not value.isdigit():
        raise denied(f"failed to parse value {value} of setting {name}: it should be a number of 0 or more")
    if default in {"true", "false"} and value not in {"true", "false"}:
        raise denied(f"value {value} of setting {name} should be true or false")
    if name == "node-drain-policy" and value not in _POLICIES:
        raise denied(f"value {value} is not a valid choice, available choices {list(_POLICIES)}")
    if default.startswith("{") and value not in {"true", "false"}:
        _by_engine(name, value)


def _by_engine(name: str, value: str) -> None:
    try:
        found = json.loads(value)
    except ValueError:
        found = value if value.isdigit() else None
    if found is None:
        raise denied(f"value {value} of setting {name} is not valid JSON")
