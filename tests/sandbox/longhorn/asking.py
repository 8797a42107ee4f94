"""A Longhorn in memory, and the few things that every test asks of it."""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.longhorn.description import NEW_IMAGE, Described, Machine, Volume
from tests.sandbox.longhorn.kinds import (
    MANAGERS,
    REPLICAS,
    SNAPSHOTS,
    VOLUMES,
)
from tests.sandbox.longhorn.longhorn import Longhorn

PLACES = ("n1", "n2", "n3")
MACHINES = tuple(Machine(each) for each in PLACES)


def built(
    *volumes: Volume, machines: tuple[Machine, ...] = MACHINES, frontends_outlive: bool = False, **settings: str
) -> Longhorn:
    """A Longhorn of three Kubernetes nodes, or of others."""
    values = {key.replace("_", "-"): value for key, value in settings.items()}
    return Longhorn(Described(machines, volumes, values, frontends_outlive=frontends_outlive))


def spread(name: str = "v", attached: str = "n1", **more: object) -> Volume:
    """A volume with a replica on each of the three."""
    return Volume(name, PLACES, attached, **more)  # type: ignore[arg-type]


def state(found: Longhorn, node: str) -> tuple[str, str]:
    """Image and state of the instance manager of a Kubernetes node."""
    manager = found.manager(node)
    return manager["spec"]["image"], manager["status"]["currentState"]


def told(found: Longhorn, volume: str = "v") -> tuple[str, str]:
    """State and robustness of a volume."""
    status = found.volume(volume)["status"]
    return status["state"], status["robustness"]


def moved(found: Longhorn, target: str, volume: str = "v") -> None:
    """Switch the engine of a volume, and wait until it is there."""
    found.write(VOLUMES, volume, {"engineNodeID": target})

    def there() -> bool:
        status = found.volume(volume)["status"]
        at = target or found.volume(volume)["spec"]["nodeID"]
        return status["currentEngineNodeID"] == at and not status["switchoverState"]

    assert found.until(there), found.volume(volume)["status"]


def states_of(found: Longhorn, field: str, volume: str = "v") -> list[str]:
    """The values that a field of the status has had, from now on."""
    seen: list[str] = []

    def note(kind: object, item: Json, _gone: bool) -> None:
        if kind == VOLUMES and item["metadata"]["name"] == volume:
            value = item["status"].get(field, "")
            if not seen or seen[-1] != value:
                seen.append(value)

    found.objects.listeners.append(note)
    return seen


def replica_on(found: Longhorn, node: str, volume: str = "v") -> Json:
    """The replica of a volume on a Kubernetes node."""
    return next(each for each in found.objects.of_volume(REPLICAS, volume) if each["spec"]["nodeID"] == node)


def modes(found: Longhorn, volume: str = "v") -> list[str]:
    """The modes of the replicas of a volume."""
    return sorted((found.engine(volume)["status"].get("replicaModeMap") or {}).values())


def replaced(found: Longhorn, node: str) -> None:
    """Delete the old instance manager of a Kubernetes node, and wait for the default one."""
    found.objects.delete(MANAGERS, found.manager(node)["metadata"]["name"])
    assert found.until(lambda: state(found, node) == (NEW_IMAGE, "running")), found.manager(node)


def ready(found: Longhorn, snapshot: str) -> bool:
    """Whether a snapshot is ready."""
    return bool(found.get(SNAPSHOTS, snapshot).get("status", {}).get("readyToUse"))
