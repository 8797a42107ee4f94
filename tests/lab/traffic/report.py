"""The report of a traffic run: pure functions from records to figures, and the table that people read."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.lab.traffic.budgets import Budget
from tests.lab.traffic.records import Acknowledgement, Health, Kind, Operation

PARTIAL = "partial result"
STATUSES = ("green", "yellow", "red", "unknown")
EXAMPLES = 10


@dataclass(frozen=True)
class Operations:
    """The course of one kind of operation. The gap is the longest time, in seconds, without a success."""

    attempted: int
    failures: Mapping[str, int]
    longest_gap: float

    @property
    def failed(self) -> int:
        return sum(self.failures.values())

    @property
    def partial(self) -> int:
        """The number of failed searches that were answered, but not by all shards."""
        return self.failures.get(PARTIAL, 0)

    @property
    def error_rate(self) -> float:
        """The failed share of what was attempted, between 0 and 1."""
        return _share(self.failed, self)


@dataclass(frozen=True)
class Loss:
    """The findings of the checker: the acknowledged documents, and the number of lost ones by cause."""

    acknowledged: int
    missing: Mapping[str, int]
    examples: tuple[str, ...]

    @property
    def count(self) -> int:
        return sum(self.missing.values())


@dataclass(frozen=True)
class Report:
    """The figures of one run; ``loss`` is None until the checker has run. All times are seconds."""

    seconds: float
    writes: Operations
    searches: Operations
    health: Mapping[str, float]
    loss: Loss | None = None

    def harm(self, budget: Budget) -> list[str]:
        """Gives what the traffic suffered beyond the budget, in sentences. A figure that is missing is harm, too."""
        return [
            *_failed("writes", self.writes, budget, budget.writes),
            *_failed("searches", self.searches, budget, budget.searches),
            *self._ill(budget),
            *self._lost(),
        ]

    def beside(self, budget: Budget) -> str:
        """Gives the figures that the budget limits, each with its limit, as one line of text."""
        writes, searches = (_counted(each, budget) for each in (self.writes, self.searches))
        return (
            f"budget {budget.name}: writes {_share(writes, self.writes):.2%} of {budget.writes:.0%}, "
            f"searches {_share(searches, self.searches):.2%} of {budget.searches:.0%}, "
            f"unknown {self.health.get('unknown', 0):.1f} s of {budget.unknown:.0f} s, "
            f"red {self.health.get('red', 0):.1f} s of {budget.red:.0f} s"
        )

    def keeps(self, budget: Budget) -> None:
        """Prints the figures next to the budget, and fails where there was harm."""
        print(self.beside(budget))
        harm = self.harm(budget)
        assert not harm, "\n".join([*harm, self.table()])

    def write(self, directory: Path) -> None:
        (directory / "report.json").write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, directory: Path) -> Report:
        content: dict[str, Any] = json.loads((directory / "report.json").read_text(encoding="utf-8"))
        loss = content["loss"]
        return cls(
            content["seconds"],
            Operations(**content["writes"]),
            Operations(**content["searches"]),
            content["health"],
            None if loss is None else Loss(loss["acknowledged"], loss["missing"], tuple(loss["examples"])),
        )

    def table(self) -> str:
        """Gives the figures as lines of text."""
        lines = [f"traffic for {self.seconds:.1f} s", _row("", "attempted", "failed", "rate", "longest gap")]
        for name, operations in (("writes", self.writes), ("searches", self.searches)):
            rate, gap = f"{operations.error_rate:.2%}", f"{operations.longest_gap:.2f} s"
            lines.append(_row(name, str(operations.attempted), str(operations.failed), rate, gap))
            lines += [f"    {count}x {reason}" for reason, count in sorted(operations.failures.items())]
        lines.append("health    " + ", ".join(f"{status} {self.health.get(status, 0):.1f} s" for status in STATUSES))
        return "\n".join([*lines, *self._loss_lines()])

    def _ill(self, budget: Budget) -> list[str]:
        """The harm that the looks at the health show."""
        if not sum(seconds for status, seconds in self.health.items() if status != "unknown"):
            return ["The health of the cluster was never seen."]
        limits = {"red": budget.red, "unknown": budget.unknown}
        return [
            f"The cluster was {status} for {self.health[status]:.1f} s; budget {budget.name} has {most:.1f} s."
            for status, most in limits.items()
            if self.health.get(status, 0.0) > most
        ]

    def _lost(self) -> list[str]:
        """The harm that the checker has found."""
        if self.loss is None:
            return ["The documents were not checked."]
        if not self.loss.acknowledged:
            return ["No document was acknowledged."]
        return [f"{self.loss.count} acknowledged documents are missing."] if self.loss.count else []

    def _loss_lines(self) -> list[str]:
        if self.loss is None:
            return ["documents not checked"]
        lines = [f"documents {self.loss.acknowledged} acknowledged, {self.loss.count} missing"]
        lines += [f"    {count}x {reason}" for reason, count in sorted(self.loss.missing.items())]
        return lines + ([f"    for example {', '.join(self.loss.examples)}"] if self.loss.examples else [])


def summarize(operations: Sequence[Operation], samples: Sequence[Health], began: float, ended: float) -> Report:
    """Gives the figures of a run that lasted from ``began`` to ``ended`` (seconds since the epoch).

    The records of earlier runs may be in the same directory, and are left out.
    """
    own = [one for one in operations if one.began >= began]
    return Report(
        seconds=ended - began,
        writes=_operations(own, "write", began, ended),
        searches=_operations(own, "search", began, ended),
        health=seconds_by_status(samples, began, ended),
    )


def seconds_by_status(samples: Sequence[Health], began: float, ended: float) -> dict[str, float]:
    """Gives for how long each status held: a sample's until the next one, and before the first it is unknown."""
    seconds = dict.fromkeys(STATUSES, 0.0)
    status, since = "unknown", began
    for sample in sorted(samples, key=lambda one: one.at):
        at = min(max(sample.at, since), ended)
        seconds[status] += at - since
        status, since = sample.status, at
    seconds[status] += max(ended - since, 0.0)
    return seconds


def longest_gap(moments: Iterable[float], began: float, ended: float) -> float:
    """Gives the longest time between two neighbouring times, the run's start and end included."""
    inside = sorted(moment for moment in moments if began <= moment <= ended)
    marks = [began, *inside, ended]
    return max(later - earlier for earlier, later in itertools.pairwise(marks))


def loss(acknowledged: Sequence[Acknowledgement], unreadable: Mapping[Acknowledgement, str]) -> Loss:
    """Gives the checker's verdict from what was acknowledged and what could not be read back, with the reason."""
    examples = [f"{one.index}/{one.id}" for one in acknowledged if one in unreadable]
    return Loss(len(acknowledged), dict(Counter(unreadable.values())), tuple(examples[:EXAMPLES]))


def _operations(operations: Sequence[Operation], kind: Kind, began: float, ended: float) -> Operations:
    chosen = [one for one in operations if one.kind == kind]
    successes = (one.ended for one in chosen if one.failure is None)
    failures = Counter(one.failure for one in chosen if one.failure is not None)
    return Operations(len(chosen), dict(failures), longest_gap(successes, began, ended))


def _failed(what: str, operations: Operations, budget: Budget, share: float) -> list[str]:
    """The harm that one kind of operation came to."""
    if not operations.attempted:
        return [f"No {what} were attempted."]
    if operations.failed == operations.attempted:
        return [f"All {operations.attempted} {what} failed."]
    failed = _counted(operations, budget)
    if failed <= budget.allowed(share, operations.attempted):
        return []
    reasons = ", ".join(f"{count}x {reason}" for reason, count in sorted(operations.failures.items()))
    found = f"{failed} of {operations.attempted} {what} failed ({_share(failed, operations):.2%})"
    return [f"{found}; budget {budget.name} has {share:.0%}: {reasons}."]


def _counted(operations: Operations, budget: Budget) -> int:
    """The failures that no client repeats by itself."""
    return sum(count for reason, count in operations.failures.items() if reason not in budget.repeated)


def _share(failed: int, operations: Operations) -> float:
    return failed / operations.attempted if operations.attempted else 0.0


def _row(*cells: str) -> str:
    return "".join(cell.ljust(10) if place == 0 else cell.rjust(12) for place, cell in enumerate(cells))
