"""The cost of the ways, as one table and as JSON. Pure: no client, no clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Any

from tests.benchmarks.phases import PHASES, Course
from tests.lab.traffic import Report
from tests.lab.traffic.report import Operations

PARTS = {
    "before": "before the first",
    "stop": "stops",
    "start": "starts until Ready",
    "join": "joins",
    "allocation": "allocation put back",
    "green": "green again",
    "rest": "until the next one stops",
    "after": "after the last",
}
"""The parts of the time, in order, in words."""
assert [*PARTS] == ["before", *PHASES, "after"]

OURS, THEIRS, IN_BATCHES = "collection", "script", "together"
_LABEL, _COLUMN = 26, 21


@dataclass(frozen=True)
class Result:
    """One upgrade in one way."""

    way: str
    failure: str
    """The reason why the way could not do its work; empty when it did."""
    done: float
    """Seconds until the way said that it was done."""
    whole: float | None
    """Seconds until the cluster was green with every member on the new version; None when it was not."""
    course: Course
    report: Report
    tasks: Mapping[str, float]
    """Seconds by task of the playbook, where the way is one."""

    @property
    def harmless(self) -> bool:
        """Upgraded, nothing missing, and never red."""
        loss = self.report.loss
        sound = not self.failure and self.whole is not None and self.report.health["red"] == 0
        return sound and loss is not None and loss.count == 0


Results = Mapping[str, Sequence[Result]]
"""Way → what came of it, once for each repetition."""


def passed(results: Results) -> bool:
    """Whether this collection did no harm; where it was not asked for, nothing is judged."""
    return all(result.harmless for way in (OURS, IN_BATCHES) for result in results.get(way, ()))


def difference(results: Results) -> dict[str, float] | None:
    """Part → seconds a member that this collection takes more than the tight script, where both were measured."""
    ours, theirs = results.get(OURS), results.get(THEIRS)
    if not ours or not theirs:
        return None
    return {part: _part(ours, part) - _part(theirs, part) for part in PARTS}


def document(results: Results, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Everything, for machines."""
    found = [asdict(result) | {"a_member": result.course.a_member()} for way in results.values() for result in way]
    return {**settings, "passed": passed(results), "results": found, "more_than_script_a_member": difference(results)}


def heading(settings: Mapping[str, Any]) -> str:
    """The measured case, in one line."""
    cluster = f"{settings['members']} members, {settings['origin']} → {settings['target']}"
    traffic = f"{settings['documents']} documents, {settings['rate']:g} operations a second"
    limit = f"each member limited to {settings['cpu']} CPU" if settings["cpu"] else "members share all cores"
    return f"{cluster}; {traffic}; {limit}"


def table(results: Results, titles: Mapping[str, str]) -> str:
    """The comparison for people: one column a way, seconds are means of the repetitions, the rest is summed up."""
    more = difference(results)
    ways = list(results.values())
    header = [titles[way] for way in results] + (["more than the script"] if more else [])
    lines = [_line("", header), _line("done after", [_done(way) for way in ways])]
    lines.append(_line("green again after", [_whole(way) for way in ways]))
    if results.get(THEIRS):
        lines.append(_line("of the script's time", [_share(way, results[THEIRS]) for way in ways]))
    lines += ["", "seconds a member"]
    for part, words in PARTS.items():
        cells = [f"{_part(way, part):.2f}" for way in ways]
        lines.append(_line(f"  {words}", cells + ([f"{more[part]:+.2f}"] if more else [])))
    cells = [f"{sum(_part(way, part) for part in PARTS):.2f}" for way in ways]
    lines.append(_line("  together", cells + ([f"{sum(more.values()):+.2f}"] if more else [])))
    lines.append("")
    for words, cell in _COSTS.items():
        lines.append(_line(words, [cell([result.report for result in way]) for way in ways]))
    failures = [f"{titles[one.way]} failed: {one.failure}" for way in ways for one in way if one.failure]
    return "\n".join([*lines, *([""] if failures else []), *failures])


def task_table(results: Results, most: int = 12) -> str:
    """The tasks of the playbook that took the longest, in seconds a member."""
    ours = [result for result in results.get(OURS, ()) if result.tasks]
    if not ours:
        return ""
    names = {name for result in ours for name in result.tasks}
    seconds = {name: mean(one.tasks.get(name, 0.0) / max(len(one.course.members), 1) for one in ours) for name in names}
    longest = sorted(seconds, key=lambda name: -seconds[name])
    lines = ["tasks of the playbook, seconds a member"]
    lines += [f"{seconds[name]:>8.2f}  {name}" for name in longest[:most]]
    lines.append(f"{sum(seconds[name] for name in longest[most:]):>8.2f}  all others")
    return "\n".join(lines)


def _line(words: str, cells: Sequence[str]) -> str:
    return (words.ljust(_LABEL) + "".join(cell.rjust(_COLUMN) for cell in cells)).rstrip()


def _done(way: Sequence[Result]) -> str:
    return f"{mean(result.done for result in way):.1f} s"


def _share(way: Sequence[Result], script: Sequence[Result]) -> str:
    return f"{mean(one.done for one in way) / mean(one.done for one in script):.2f}"


def _whole(way: Sequence[Result]) -> str:
    known = [result.whole for result in way if result.whole is not None]
    return f"{mean(known):.1f} s" if len(known) == len(way) else "never"


def _part(way: Sequence[Result], part: str) -> float:
    return mean(result.course.a_member()[part] for result in way)


def _seconds(status: str) -> Callable[[Sequence[Report]], str]:
    return lambda reports: f"{mean(report.health[status] for report in reports):.1f} s"


def _failed(choose: Callable[[Report], Operations]) -> Callable[[Sequence[Report]], str]:
    def cell(reports: Sequence[Report]) -> str:
        failed = sum(choose(report).failed for report in reports)
        attempted = sum(choose(report).attempted for report in reports)
        return f"{failed} of {attempted} ({failed / max(attempted, 1):.2%})"

    return cell


def _gap(choose: Callable[[Report], Operations]) -> Callable[[Sequence[Report]], str]:
    return lambda reports: f"{max(choose(report).longest_gap for report in reports):.2f} s"


def _documents(reports: Sequence[Report]) -> str:
    return str(sum(report.loss.acknowledged for report in reports if report.loss))


def _missing(reports: Sequence[Report]) -> str:
    return str(sum(report.loss.count for report in reports if report.loss))


_COSTS: dict[str, Callable[[Sequence[Report]], str]] = {
    "red": _seconds("red"),
    "yellow": _seconds("yellow"),
    "unknown": _seconds("unknown"),
    "failed writes": _failed(lambda report: report.writes),
    "failed searches": _failed(lambda report: report.searches),
    "longest without a write": _gap(lambda report: report.writes),
    "longest without a search": _gap(lambda report: report.searches),
    "documents acknowledged": _documents,
    "documents missing": _missing,
}
