"""Makes what a description says, on whatever API server, and waits until its controllers have brought it to life."""

from __future__ import annotations

from collections.abc import Callable

from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.longhorn import building
from tests.sandbox.longhorn.controllers.all import Controllers
from tests.sandbox.longhorn.controllers.backing_images import COPIES, copies_of
from tests.sandbox.longhorn.controllers.managers import pod_of
from tests.sandbox.longhorn.controllers.shares import share_pod
from tests.sandbox.longhorn.definitions import LONGHORN
from tests.sandbox.longhorn.description import Described, Volume
from tests.sandbox.longhorn.kinds import (
    ATTACHMENTS,
    BACKING_IMAGES,
    ENGINES,
    FRONTENDS,
    MANAGERS,
    NODES,
    RECURRING_JOBS,
    REPLICAS,
    SETTINGS,
    SHARES,
    VOLUMES,
    manager_name,
)
from tests.sandbox.longhorn.objects import Objects
from tests.sandbox.longhorn.unverified.definitions import of_the_design, of_v1_13

Until = Callable[[str, Callable[[], object]], None]
"""Wait until a condition is true; the text says what is waited for."""


def offered(described: Described) -> list[Json]:
    """The definitions that a description needs: the real ones, and the unverified kinds that it has."""
    more = {"design": of_the_design, "v1.13": of_v1_13}.get(described.offers, list)
    return [*LONGHORN.definitions(), *more()]


def bring_up(objects: Objects, controllers: Controllers, described: Described, until: Until) -> None:
    """Instance managers first, then volumes, and Longhorn's nodes last: they clean up managers that hold nothing."""
    for each in building.setting_objects(described):
        objects.create(SETTINGS, each)
    for manager in building.manager_objects(described):
        made = objects.create(MANAGERS, manager)
        objects.create(PODS, pod_of(made, controllers.managers.restart_policy))
    until("the instance managers", lambda: _managers_run(objects))
    _backing_images(objects, described)
    for volume in described.volumes:
        _volume(objects, volume)
    until("the volumes", lambda: _volumes_attached(objects, described))
    for machine in described.machines:
        controllers.nodes.known(machine.name)
        objects.create(NODES, building.node_object(machine, objects.clock.now()))
    for job in described.jobs:
        objects.create(RECURRING_JOBS, building.job_object(job))


def _backing_images(objects: Objects, described: Described) -> None:
    """Copies of backing images as an earlier Longhorn has noted them last."""
    for machine in described.machines:
        copies = building.copies_on(machine, described.volumes)
        for name in copies:
            if objects.get(BACKING_IMAGES, name) is None:
                objects.create(BACKING_IMAGES, building.backing_image_object(name))
        told = copies_of(building.disk_of(machine.name), copies)
        if told:
            name = manager_name(machine.name, machine.image)
            objects.status(MANAGERS, name, lambda status, told=told: status.update({COPIES: told}))  # type: ignore[misc]


def _volume(objects: Objects, volume: Volume) -> None:
    made = objects.create(VOLUMES, building.volume_object(volume))
    for replica in building.replica_objects(volume, made, objects.clock.now()):
        objects.create(REPLICAS, replica)
    objects.create(FRONTENDS, building.frontend_object(volume, made))
    objects.create(ENGINES, building.engine_object(volume, made))
    objects.create(ATTACHMENTS, building.attachment_object(volume, made))
    if volume.access == "rwx" and volume.attached:
        share = objects.create(SHARES, building.share_object(volume, made))
        objects.create(PODS, share_pod(share, volume.attached))


def _managers_run(objects: Objects) -> bool:
    return all(each.get("status", {}).get("currentState") == "running" for each in objects.all(MANAGERS))


def _volumes_attached(objects: Objects, described: Described) -> bool:
    wanted = [each.name for each in described.volumes if each.attached and each.data_engine == "v2"]
    found = [(objects.get(VOLUMES, each) or {}).get("status", {}) for each in wanted]
    return all(each.get("state") == "attached" and each.get("robustness") in {"healthy", "degraded"} for each in found)
