"""The options with which each batch sees that the settings of the whole run are in force, and moves shards away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..module_utils.run.pace import delay_after

OF_RUN = ("recoveries", "recovery_bytes", "node_left_delay")
"""The options from variables for settings that stay until the end of the run."""


def options_to_prepare(
    batch: Mapping[str, Any], usual: float | None, seconds_left: Callable[[], Any], *, repeats: bool
) -> dict[str, Any]:
    """The options of a batch. `usual` are the seconds for which batches are usually away.

    In check mode the settings are not made, so each batch after the first `repeats` them, and leaves them out.
    """
    leaving = batch["members"] if batch.get("by") == "removal" else batch.get("drained", [])
    moving = {"drained": leaving, "wait_timeout": seconds_left()} if leaving else {}
    delay = delay_after(usual)
    settings = dict.fromkeys(OF_RUN) if repeats else {"node_left_delay": delay} if delay else {}
    return {"batch": batch["members"], **settings, **moving}
