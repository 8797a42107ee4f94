"""The alerts that fire, and whether an upgrade may continue while they do. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from ..common.errors import each_read
from ..common.verdict import Reason, as_verdict, refused, remark, waiting
from .selectors import Selector, parse_selector

NAME = "alertname"
NOT_SHOWN = frozenset({NAME, "__name__", "alertstate", "prometheus", "prometheus_replica"})
"""Labels that add nothing to the name of the alert."""
MOST_LABELS = 6
"""The most labels of an alert that are shown."""


@dataclass(frozen=True)
class Alert:
    """One alert that fires."""

    labels: tuple[tuple[str, str], ...]
    """In the order of their names."""

    @property
    def known(self) -> dict[str, str]:
        """The labels by name."""
        return dict(self.labels)

    @property
    def shown(self) -> str:
        """The alert for people."""
        labels = [f"{name}={value}" for name, value in self.labels if name not in NOT_SHOWN][:MOST_LABELS]
        name = self.known.get(NAME, "without a name")
        return f"{name} ({', '.join(labels)})" if labels else name


def alert_with(labels: Mapping[str, Any]) -> Alert:
    """The alert with these labels, without the one for its state."""
    kept = sorted((str(name), str(value)) for name, value in labels.items() if name not in ("__name__", "alertstate"))
    return Alert(tuple(kept))


@dataclass(frozen=True)
class Ignored:
    """Alerts that do not stop an upgrade, with a reason and a last day."""

    selector: Selector
    reason: str
    owner: str
    until: date
    """The last day on which they are ignored."""


def ignored_in(given: Sequence[Mapping[str, Any]], option: str) -> list[Ignored]:
    """The entries of an option.

    Raises:
        Refusal: some of them cannot be read; it has a reason for each.
    """

    def read(each: Mapping[str, Any]) -> Ignored:
        selector, until = parse_selector(str(each["alerts"])), date.fromisoformat(str(each["until"])[:10])
        return Ignored(selector, str(each["reason"]), str(each["owner"]), until)

    def fault(each: Mapping[str, Any], error: ValueError) -> Reason:
        said = f"The entry {each.get('alerts')} of {option} cannot be used: {error}."
        return refused("ignored_alert_unreadable", said, "Give alerts, reason, owner, and until as 2026-12-31.")

    return each_read(given, read, fault)


@as_verdict
def judge_alerts(
    firing: Iterable[Alert], ignored: Sequence[Ignored], before: Iterable[Alert], today: date
) -> Iterator[Reason]:
    """Whether no alert stops the upgrade. Alerts that fired `before` the upgrade, and ignored ones, give remarks."""
    known = frozenset(before)
    for alert in sorted(set(firing), key=lambda each: each.labels):
        entries = [each for each in ignored if each.selector.fits(alert.known)]
        valid = next((each for each in entries if today <= each.until), None)
        if valid is not None:
            said = f"The alert {alert.shown} fires and is ignored until {valid.until}: {valid.reason} ({valid.owner})."
            yield remark("alert_ignored", said)
        elif alert in known:
            yield remark("alert_of_before", f"The alert {alert.shown} fires as it did when the upgrade began.")
        else:
            over = "".join(f" It was ignored until {each.until} ({each.owner})." for each in entries[:1])
            yield waiting(
                "alert_firing",
                f"The alert {alert.shown} fires.{over}",
                "Fix its cause, or ignore it with a reason, an owner and a last day (upgrade_alerts_ignored).",
                about=alert.shown,
            )


@as_verdict
def judge_watchdog(name: str, fires: bool) -> Iterator[Reason]:
    """Whether the alert that always fires does so. If not, other alerts may not fire either."""
    if not fires:
        yield waiting(
            "alerts_not_evaluated",
            f"The alert {name} always fires, but does not fire now, so no alert can be relied on.",
            "See why Prometheus does not evaluate its rules, or correct the name (upgrade_watchdog).",
        )
