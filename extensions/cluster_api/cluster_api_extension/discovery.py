"""The answer to Discovery: the hooks that this service has. Pure: no I/O."""

from __future__ import annotations

from .bodies import API_VERSION, success
from .fields import Json
from .policy import Policy

IN_PLACE_HOOKS = ("CanUpdateMachine", "CanUpdateMachineSet", "UpdateMachine")
TIMEOUT = 10
"""Seconds that Cluster API waits for an answer; it allows 30 at most."""


def discovered(policy: Policy) -> Json:
    """The hooks in use. Cluster API takes one extension for each hook of in-place updates, so unused ones stay out."""
    hooks = (*(IN_PLACE_HOOKS if policy.in_place else ()), *policy.gate.hooks)
    return success("Discovery", handlers=[_handler(hook) for hook in hooks])


def _handler(hook: str) -> Json:
    return {
        "name": hook.lower(),
        "requestHook": {"apiVersion": API_VERSION, "hook": hook},
        "timeoutSeconds": TIMEOUT,
        "failurePolicy": "Fail",
    }
