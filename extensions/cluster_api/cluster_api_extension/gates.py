"""The answers to lifecycle hooks: an upgrade is held while a gate says no. Pure: no I/O.

A missing answer, or one that is too old, is not a pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from .bodies import optional_text, success, text
from .fields import Json
from .policy import GateRule

SKIP = "upgrade.stateful/skip-gate"
"""The annotation of the Cluster with which a person lets an upgrade pass without the gate; its value is the cause."""
AHEAD = timedelta(seconds=60)
"""The time by which the clock of the gate may be ahead."""
LONGEST = 500
"""The most characters of a reason of a gate that a message repeats."""


@dataclass(frozen=True)
class GateAnswer:
    """The answer of a gate: whether the cluster is fit, the reason if it is not, and the time of the look."""

    fit: bool
    reason: str
    seen: datetime


def gate_answer_of(data: Mapping[str, Any]) -> GateAnswer | str:
    """The answer in a record: fit (yes or no), reason, and seen (ISO, with a zone); or a sentence with its fault."""
    fit, reason, seen = (data.get(name, "") for name in ("fit", "reason", "seen"))
    if fit not in ("yes", "no") or not isinstance(reason, str):
        return "The record of the gate has no field fit with yes or no."
    try:
        time = datetime.fromisoformat(str(seen).replace("Z", "+00:00"))
    except ValueError:
        return "The record of the gate has no field seen with a time."
    if time.tzinfo is None:
        return "The time in the field seen of the gate has no zone."
    return GateAnswer(fit == "yes", reason, time.astimezone(timezone.utc))


def gate_data_of(answer: GateAnswer) -> dict[str, str]:
    """The record with an answer, which `gate_answer_of` reads."""
    return {"fit": "yes" if answer.fit else "no", "reason": answer.reason[:LONGEST], "seen": answer.seen.isoformat()}


def cluster_named(body: Json) -> tuple[str, str]:
    """The namespace and the name of the cluster of a request."""
    return text(body, "cluster", "metadata", "namespace"), text(body, "cluster", "metadata", "name")


def skipped(body: Json) -> str:
    """The cause for which a person lets this cluster pass without its gate; empty if none does."""
    return optional_text(body, "cluster", "metadata", "annotations", SKIP)


def gated(hook: str, cluster: str, rule: GateRule, found: GateAnswer | str, now: datetime, place: str) -> Json:
    """The answer to a lifecycle hook. `found` is the answer of the gate, or a sentence that says why there is none."""
    held = _held(rule, found, now)
    if not held:
        return success(hook, retryAfterSeconds=0)
    message = f"The upgrade of {cluster} is held at {hook} by the gate {place}: {held}"
    return success(
        hook,
        f"{message} To pass without it, annotate the Cluster with {SKIP} and the cause.",
        retryAfterSeconds=rule.poll,
    )


def _held(rule: GateRule, found: GateAnswer | str, now: datetime) -> str:
    if isinstance(found, str):
        return found
    if found.seen > now + AHEAD:
        return "The time of its answer is in the future."
    if now - found.seen > timedelta(seconds=rule.max_age):
        return f"Its answer is older than {rule.max_age} s."
    if not found.fit:
        reason = "".join(letter if letter.isprintable() else " " for letter in found.reason)[:LONGEST].strip()
        return reason if reason.endswith(".") else f"{reason or 'It says no'}."
    return ""
