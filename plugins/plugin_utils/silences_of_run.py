"""The silences that a run holds, and those that it holds during a batch.

A batch of a plan can have `silences` of its own. Those of the first batch are made before it starts, and those of each
further batch before those of the previous one end. The end of the run ends all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..module_utils.common.words import unique
from .batch_of_run import batch_of_run, batches_of
from .of_run import Run
from .run_options import GivenVariables, value_of

SILENCES = "upgrade_silences"


def all_silences(given: GivenVariables) -> list[str]:
    """The selectors of all silences that the run will hold."""
    batches = (given("begin_plan") or {}).get("batches") or ()
    return unique([*_of_run(given), *(one for each in batches for one in _of_batch(each))])


def options_of_silences(
    module: str, arguments: Mapping[str, Any], given: GivenVariables, variables: Mapping[str, Any]
) -> dict[str, Any]:
    """The option `silences` of a task that shows, holds or ends them; empty for any other.

    A task of a batch holds those of the run and of the batch. A task before the batches holds those of the first batch,
    and a task that ends them names those that were held last.
    """
    if module != "alert_silence":
        return {}
    batch, plan = batch_of_run(variables, given), Run(given, variables).plan
    if arguments.get("state") == "shown":
        return {"silences": all_silences(given)}
    if batch is not None:
        return {"silences": [*_of_run(given), *_of_batch(batch.so_far.batch)]}
    begun = (each.so_far.batch for each in batches_of(variables) if each.so_far.results)
    last = next(begun, None) or next(iter(plan.get("batches") or ()), {})
    return {"silences": [*_of_run(given), *_of_batch(last)]}


def _of_run(given: GivenVariables) -> list[str]:
    return list(value_of(SILENCES, given) or ())


def _of_batch(batch: Mapping[str, Any]) -> list[str]:
    return list(batch.get("silences") or ())
