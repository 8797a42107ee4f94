"""The tasks of a batch that wait at its gate: they get the place of the record in which people pause an upgrade."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .batch_of_run import REPLACING
from .run_options import GivenVariables
from .variables import PREFIX

OF_SYSTEM = ("fit", "asked")
"""The states of systems that wait until a batch may go: for the system itself, and for the databases on the batch."""
GATES = {
    "cluster_health_gate": "moment",
    **dict.fromkeys(REPLACING, "until"),
    **dict.fromkeys(("node_engine_switch", "shard_allocation"), "state"),
}
"""The option that says whether a task of a module waits at a gate …"""
PAUSABLE = frozenset(
    [
        ("cluster_health_gate", "before_batch"),
        ("cluster_health_gate", "before_stop"),
        *((module, "joined") for module in REPLACING),
        ("node_engine_switch", "switched"),
        # Before the gate it may move shards away for hours.
        ("shard_allocation", "prepared"),
    ]
)
"""… and its values with which it does. A pause ends such a wait."""


def lock_of_gate(module: str, arguments: Mapping[str, Any], given: GivenVariables) -> dict[str, Any]:
    """The option `lock` with the place of the record, if this task of a batch waits at a gate; empty for others."""
    waits = arguments.get("state") in OF_SYSTEM or (module, arguments.get(GATES.get(module, ""))) in PAUSABLE
    lock, names = given(f"{PREFIX}lock"), {"kept_in": f"{PREFIX}record_kept_in", "path": f"{PREFIX}record_path"}
    places = {option: place for option, name in names.items() if (place := given(name))}
    return {"lock": {**lock, "record": places}} if waits and lock else {}
