"""The time in which a batch of an upgrade proves itself before the next one goes. Pure.

It counts from the time in the record at which the batch was done, so a single pass and a later run judge alike. A gate
that fails is refused and never waited for: a canary exists to show failures early. Values are compared with
those of Prometheus at the start of the upgrade, as alerts are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..common.errors import Refusal
from ..common.verdict import Reason, State, Verdict, as_verdict, refused, waiting


@dataclass(frozen=True)
class Limit:
    """A query of Prometheus and the most that its value may be."""

    name: str
    query: str
    most: float | None
    """The most that the value may be; None if it is compared with the baseline alone."""
    ratio: float | None
    """The most that the value may be in relation to its value when the upgrade began; None without this limit."""


@dataclass(frozen=True)
class SoakMeasurement:
    """The values of a query; None where Prometheus has none."""

    limit: Limit
    now: float | None
    baseline: float | None


@dataclass(frozen=True)
class Soak:
    """One look at a batch that must prove itself."""

    members: tuple[str, ...]
    left: float
    """Seconds that are left of its time."""
    until: str
    """The time at which it is over."""
    alerts: Verdict
    """The verdict on the alerts that fire."""
    probes: Sequence[tuple[str, str]]
    """Each address that is checked, with the cause if it is not available, else an empty text."""
    measured: Sequence[SoakMeasurement]
    first: bool = True
    """Whether no other batch went before it."""

    @property
    def called(self) -> str:
        """The members, with their place in the order."""
        return f"{', '.join(self.members)} went {'first' if self.first else 'last'}"


def limits_in(given: Sequence[Mapping[str, Any]], option: str) -> list[Limit]:
    """The limits of an option.

    Raises:
        Refusal: one of them limits nothing.
    """
    faults = [
        refused(
            "soak_limit_unreadable",
            f"The limit {each['name']} of {option} has neither most nor ratio.",
            "Give the most that its value may be, or its ratio to the value when the upgrade began.",
        )
        for each in given
        if each.get("most") is None and each.get("ratio") is None
    ]
    if faults:
        raise Refusal(*faults)
    return [Limit(each["name"], each["query"], _number(each.get("most")), _number(each.get("ratio"))) for each in given]


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


@as_verdict
def judge_soak(soak: Soak) -> Iterator[Reason]:
    """Whether the batch has proven itself. A gate that fails stops the upgrade at once."""
    failed = [each.message for each in soak.alerts.reasons if each.state is State.WAITING]
    failed += [f"{address} is not available: {cause}." for address, cause in soak.probes if cause]
    failed += [said for each in soak.measured if (said := _over(each))]
    for each in failed:
        yield refused(
            "soak_failed",
            f"The upgrade stops. {soak.called}, and has not proven itself: {each}",
            "Fix that and run again, or restore what is lost; the other members are as they were.",
        )
    for one in soak.measured:
        if not _is_known(one):
            yield waiting(
                "soak_not_measured",
                f"Prometheus has no single value for {one.limit.name} ({one.limit.query}).",
                "Correct the query, or see why nothing is measured (upgrade_soak_limits).",
            )
    if soak.left > 0:
        yield waiting("soaking", f"{soak.called}, and has to prove itself until {soak.until}.")
    yield from (each for each in soak.alerts.reasons if each.state is State.PASSED)


def _is_known(each: SoakMeasurement) -> bool:
    return each.now is not None and (each.limit.ratio is None or each.baseline is not None)


def _over(each: SoakMeasurement) -> str:
    """A sentence if the value is over its limit."""
    if each.now is None:
        return ""
    name, now = each.limit.name, f"{each.now:g}"
    if each.limit.most is not None and each.now > each.limit.most:
        return f"{name} is {now}, and may be {each.limit.most:g} at most."
    if each.limit.ratio is not None and each.baseline is not None and each.now > each.limit.ratio * each.baseline:
        allowed = f"{each.limit.ratio:g} times {each.baseline:g}"
        return f"{name} is {now}, and may be {allowed} at most (its value when the upgrade began)."
    return ""
