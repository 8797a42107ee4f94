"""The figure of Longhorn's health that runs compare with the one from before."""

from __future__ import annotations

from ..common.task import Task
from ..kubernetes.client import connect
from ..run.health_figures import HealthFigure, HealthFigures, HealthLook
from .observe.kinds import NAMESPACE
from .observe.look import look as look_at
from .observe.state import HEALTHY, Longhorn

DEGRADED_VOLUMES = "degraded_volumes"


def degraded(seen: Longhorn) -> dict[str, int]:
    """The attached volumes that are not healthy, whichever engine they have. Detached ones have no robustness."""
    return {each.name: 1 for each in seen.volumes.values() if each.attached and each.robustness != HEALTHY}


def look(task: Task) -> HealthLook:
    """One look."""
    seen = look_at(connect(task.params["kubernetes"]), task.params["namespace"] or NAMESPACE)
    return HealthLook({DEGRADED_VOLUMES: degraded(seen)})


HEALTH = HealthFigures(
    (
        HealthFigure(
            DEGRADED_VOLUMES,
            "volumes that are not healthy",
            "A replica may have no disk with room, or its node may be away. See the events of the volume.",
        ),
    ),
    look,
)
