"""The class of a failure of `kubeadm upgrade`, which decides whether the role member_kubeadm tries it again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..module_utils.common.ancestry import ancestors, controller
from ..module_utils.common.waiting import Clock, pause
from ..module_utils.machines.delegated import RETRIES
from ..module_utils.machines.observe.node_updates import FailureKind
from .kubeadm_blockers import blockers_in

_FINAL = re.compile(r"x509: |[Uu]nauthorized|[Ff]orbidden|denied|code = NotFound|: not found\b|manifest unknown")
"""What no other try changes, such as an image that its registry does not have."""
_UNREACHABLE = re.compile(
    r"connection refused|connection reset|no route to host|network is unreachable|i/o timeout|TLS handshake timeout"
    r"|Client\.Timeout exceeded|client rate limiter|server misbehaving|: EOF|etcdserver: |currently unable to handle"
)
_TRANSIENT = re.compile(
    r"timed out waiting for the condition|context deadline exceeded|did not change after|did not complete in"
    r"|failed to pull image|NotReady control-planes|etcd cluster is not healthy|object has been modified"
    r"|[Tt]oo many requests"
)


def failure_class(result: Mapping[str, Any]) -> str:
    """The class of the failure of a command: Transient, Unreachable or Terminal.

    With several errors it is the worst of them, since one that stays keeps kubeadm from its upgrade.
    """
    found = {_kind(each["said"]) for each in blockers_in(result)}
    ordered = (FailureKind.TERMINAL, FailureKind.TRANSIENT, FailureKind.UNREACHABLE)
    return next(each for each in ordered if each in found).value


def _kind(said: str) -> FailureKind:
    if _FINAL.search(said):
        return FailureKind.TERMINAL
    if _UNREACHABLE.search(said):
        return FailureKind.UNREACHABLE
    return FailureKind.TRANSIENT if _TRANSIENT.search(said) else FailureKind.TERMINAL


def tried_again(result: Mapping[str, Any], budgets: Mapping[str, int], wait: float, clock: Clock | None = None) -> bool:
    """Whether a command is to be tried again now: its failure may pass, and the controller lives.

    The worker that repeats it outlives a killed controller, and starts no further try then; so the seconds until the
    next try pass here (`wait`), and the controller is looked for behind them.
    """
    if not may_pass(result, budgets):
        return False
    pause(wait, clock)
    return ancestors(1) == controller()


def may_pass(result: Mapping[str, Any], budgets: Mapping[str, int]) -> bool:
    """Whether the failure of a command may pass, and its budget is not spent."""
    if result.get("skipped") or not result.get("rc", 1):
        return False
    return int(result.get("attempts", 1)) <= budget_of(failure_class(result), budgets)


def budget_of(kind: str, budgets: Mapping[str, int]) -> int:
    """The tries after the first one of a class of failures; `budgets` are the user's, by class in small letters."""
    return int(budgets.get(kind.lower(), RETRIES.get(FailureKind(kind), 0)))
