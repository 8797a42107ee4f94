"""The work of the part `health_figures`. The figures are those of the system that the record names.

A part does not know the system of its run, so the figures of all of them stand here, above all rooms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..common.task import Outcome, Task
from ..longhorn import health_figures as longhorn
from ..opensearch import health_figures as opensearch
from ..run import health_measure
from ..run.health_figures import HealthFigures

HEALTH: Mapping[str, HealthFigures] = {
    "longhorn": longhorn.HEALTH,
    "opensearch": opensearch.HEALTH,
    "restart": opensearch.HEALTH,
}
"""The figures of each system that has any, by its name in records."""
_OWN = {"allow_red_indices": {"type": "list", "elements": "str", "default": []}}
"""The options that the look at a system has in addition to the connections."""
CONTRACT = replace(health_measure.CONTRACT, argument_spec={**health_measure.CONTRACT.argument_spec, **_OWN})


def run(task: Task) -> Outcome:
    """Measure the health before the first batch, or compare it with that."""
    return health_measure.measure(task, HEALTH)
