"""The work of the module `upgrade_lock`: one run at a time on one cluster.

A task that names no cluster asks its system for the identity. A lock is kept where its system keeps it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ...common.arguments import CONNECTIONS, LOCK, WAIT
from ...common.task import Contract, Outcome, Task
from ...common.timestamps import utc_now
from ...common.verdict import Verdict
from ...common.waiting import FIRST_ANSWER
from .held_lock import ask_to_stop, await_end, give_back, see_free, take
from .lock import StoreOf, name_for
from .lock_watch import Watch

STATES = ("free", "held", "stopped", "awaited", "released")

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 300},
        "state": {"type": "str", "required": True, "choices": list(STATES)},
        "kept_in": LOCK["lock"]["options"]["kept_in"],
        "namespace": {"type": "str"},
        "cluster_uuid": {"type": "str"},
        "lease_duration": {"type": "int", "default": 60},
        "take_over": {"type": "str", "default": ""},
        "holders": {"type": "list", "elements": "str", "default": []},
    },
    required_if=[("kept_in", "kubernetes", ("namespace",))],
    guarded=False,
)


def manage_lock(task: Task, store_of: StoreOf, identity_of: Callable[[Task], str]) -> Outcome:
    """Bring the lock into the wanted state. A second run changes nothing."""
    state, given = task.params["state"], task.params["lock"]
    if state == "released":
        return give_back(task, store_of(task.params), given) if given else Outcome(Verdict())
    if not given:
        # This is the first task of its playbook, so nothing was changed yet.
        task = replace(task, first_answer=FIRST_ANSWER)
    lock = _wanted(task, identity_of)
    watch = Watch(task, store_of({**task.params, "lock": lock}))
    steps: dict[str, Callable[[Task, Watch], Outcome]] = {
        "free": partial(see_free, lock=lock),
        "held": partial(take, wanted=lock),
        "stopped": ask_to_stop,
        "awaited": await_end,
    }
    return task.settled(lambda: steps[state](task, watch))


def _wanted(task: Task, identity_of: Callable[[Task], str]) -> dict[str, Any]:
    """The lock in the form of the option `lock` of the other modules."""
    params = task.params
    if params["lock"]:
        return dict(params["lock"])
    return {
        "run": f"{utc_now():%Y%m%d-%H%M%S}-{secrets.token_hex(4)}",
        "name": name_for(params["cluster_uuid"] or identity_of(task)),
        "kept_in": params["kept_in"],
        "namespace": params["namespace"],
        "lease_duration": params["lease_duration"],
    }
