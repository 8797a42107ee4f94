"""The course of a run, chosen from all wanted changes: nothing, processes, all at once, or new pods. Pure.

Each member gets the least that is enough for it. A pod is replaced if its configuration cannot reach it, if a
setting is part of the pod, or if its template has changed. All processes stop at once where a setting, a person or
a licence needs it; a run that does so replaces no pod, since a new pod starts as soon as it is made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from ...common.verdict import Reason, Verdict, as_verdict, combine, refused, remark
from ...common.words import enumerate_few
from ...opensearch.judge.sizes import OF_OTHER_VERSION
from .http_scheme import GivenAddresses
from .phases import TOGETHER, Marked
from .pod_spec import Mounted, judge_mounted
from .setting_rules import SettingEffect
from .settings_table import SettingChanges, contradicting_effects, details_of_scheme, judge_changes


class RunBy(str, Enum):
    """What the user wants (option `replace_pods`)."""

    AUTO = "auto"
    """Each member by the least that is enough."""
    PROCESS = "never"
    """Every pod stays, or the run is refused."""
    POD = "always"
    """Every pod is replaced."""


class Course(str, Enum):
    """The course of a run."""

    NOTHING = "nothing"
    DYNAMIC = "dynamic"
    """Nothing restarts: the members take all changes while they run."""
    ROLLING = "rolling"
    COORDINATED = "coordinated"
    REPLACED = "replaced"
    """At least one pod is replaced; the processes of the other members restart in their pods, all by batches."""


_NEEDS = {
    SettingEffect.DYNAMIC: "no restart",
    SettingEffect.ROLLING: "a restart of each process",
    SettingEffect.NEW_POD: "new pods",
    SettingEffect.COORDINATED: "all processes stopped at once",
    SettingEffect.NEVER: "what no run can do",
}
"""The words for the needs of a change."""


@dataclass(frozen=True)
class PoolToRestart:
    """What one pool is to get."""

    pool: str
    members: frozenset[str]
    due: frozenset[str]
    """Its members that differ from what is wanted, or are marked, or are to restart in any case."""
    marked: frozenset[str] = frozenset()
    """Those that restart whatever their changes need: they are marked, or no configuration was given."""
    changes: Mapping[str, SettingChanges] = field(default_factory=dict)
    """The changes of settings, of each due member whose configuration becomes another one."""
    mounted: Mounted = field(default_factory=lambda: Mounted(""))
    """How a new configuration comes to its servers."""
    outdated: frozenset[str] = frozenset()
    """The members whose pods are of an older template than the pool has."""
    under_way: frozenset[str] = frozenset()
    """Those whose process a run has begun to restart. Their restart is completed in their pods."""
    same_version: bool = True
    """Whether a new pod of the pool is known to run the version that its members run."""


@dataclass(frozen=True)
class Line:
    """One changed setting as the plan shows it, whatever the number of its members. It has no values."""

    name: str
    sentence: str
    way: SettingEffect
    why: str
    source: str
    whose: str
    """The pools and members for which it changes, in words."""

    def detail(self) -> str:
        """The line of the plan."""
        return f"{self.sentence} for {self.whose}, which needs {_NEEDS[self.way]}: {self.why}"

    def as_result(self) -> dict[str, str]:
        """Plain data for a result."""
        return {
            "name": self.name,
            "way": self.way.value,
            "why": self.why,
            "source": self.source,
            "members": self.whose,
        }


@dataclass(frozen=True)
class ChosenRestart:
    """The restart that a plan has chosen."""

    course: Course
    due: frozenset[str]
    """The members that go."""
    replaced: frozenset[str]
    """Those of them whose pods are replaced."""
    lines: tuple[Line, ...]
    verdict: Verdict
    for_clients: tuple[str, ...] = ()
    """The lines of the plan on what clients lose."""

    @property
    def condition(self) -> str:
        """The words for the course that consent covers. They stay the same while members are finished."""
        return f"by {self.course.value}" if self.course is Course.COORDINATED else "in batches"

    def by(self, members: Collection[str]) -> str:
        """How one batch restarts: `pod` if one of its members needs it, else `process`."""
        return "pod" if self.replaced & {*members} else "process"

    def details(self) -> list[str]:
        """The lines of the plan: the course of the run unless it is the usual one, and each changed setting."""
        stay = "; the processes of the others restart in their pods" if self.due - self.replaced else ""
        count = f"{len(self.replaced)} pod{' is' if len(self.replaced) == 1 else 's are'} replaced"
        ways = {
            Course.DYNAMIC: ["Nothing restarts: the members take all of this while they run."],
            Course.COORDINATED: [
                "All processes stop before the first one starts: the whole cluster is away for that time."
            ],
            Course.REPLACED: [f"{count}{stay}."],
        }
        return [*ways.get(self.course, []), *self.for_clients, *(line.detail() for line in self.lines)]

    def as_result(self) -> dict[str, Any]:
        """Plain data for a result."""
        return {
            "course": self.course.value,
            "replaced": sorted(self.replaced),
            "changes": [line.as_result() for line in self.lines],
            "details": self.details(),
        }


def chosen_restart(
    asked: Sequence[PoolToRestart],
    by: RunBy,
    *,
    together: Collection[str] = (),
    everywhere: Collection[str] = (),
    addresses: GivenAddresses | None = None,
) -> ChosenRestart:
    """The restart of a run, with all refusals at once.

    `together` are the causes why the due processes stop at once, in words, such as the phase of their pods.
    `everywhere` are those for which all processes of the cluster do, such as a licence; a setting that needs it is one.
    `addresses` are those of the servers, for a change of their scheme.
    """
    due = frozenset(name for each in asked for name in _going(each, by))
    every = _all_changes(asked)
    everywhere = [*everywhere, *(each.name for each in every.by(SettingEffect.COORDINATED))]
    if everywhere:
        due = frozenset(name for each in asked for name in each.members)
    coordinated = [*together, *everywhere] if due else []
    begun = frozenset(name for each in asked for name in each.under_way)
    if by is RunBy.POD:
        replaced = due - begun
    elif by is RunBy.AUTO and not coordinated:
        replaced = frozenset(name for each in asked for name in (_needing(each) | each.outdated) & due - begun)
    else:
        replaced = frozenset()
    in_place = by is RunBy.PROCESS or bool(coordinated)
    changed = [each for each in asked if each.changes.keys() & due]
    verdict = combine(
        (
            judge_changes(every, addresses),
            *(judge_mounted(each.pool, each.mounted, in_place) for each in changed),
            _judge_demand(asked, by),
            _judge_together(every, by, coordinated),
            _judge_agreed(every),
            _judge_versions(asked, replaced),
            _judge_kept(asked, due - replaced),
            _judge_dynamic(asked, due),
        )
    )
    details = tuple(details_of_scheme(every, addresses)) if addresses else ()
    return ChosenRestart(_course(asked, due, replaced, coordinated), due, replaced, lines_of(asked), verdict, details)


def _all_changes(asked: Iterable[PoolToRestart]) -> SettingChanges:
    """The changes of all members, each once: a thousand members with the same ones are judged as one."""
    found = dict.fromkeys(one for each in asked for changes in each.changes.values() for one in changes.changes)
    return SettingChanges(tuple(sorted(found, key=lambda one: one.name)))


def _going(each: PoolToRestart, by: RunBy) -> frozenset[str]:
    """The due members of a pool, without those that take all their changes while they run."""
    if by is not RunBy.AUTO:
        return each.due
    at_run_time = {name for name, found in each.changes.items() if found.strongest is SettingEffect.DYNAMIC}
    return each.due - (at_run_time - each.marked - each.outdated)


def _needing(each: PoolToRestart) -> frozenset[str]:
    """The members of a pool whose new configuration needs a new pod."""
    return frozenset(
        name for name, found in each.changes.items() if each.mounted.cause or found.by(SettingEffect.NEW_POD)
    )


def _course(
    asked: Iterable[PoolToRestart], due: Collection[str], replaced: Collection[str], coordinated: Collection[str]
) -> Course:
    if not due:
        return Course.DYNAMIC if any(each.due for each in asked) else Course.NOTHING
    if coordinated:
        return Course.COORDINATED
    return Course.REPLACED if replaced else Course.ROLLING


@as_verdict
def _judge_demand(asked: Iterable[PoolToRestart], by: RunBy) -> Iterator[Reason]:
    """A refusal for each pool whose pods are to stay although a setting of it is part of the pod."""
    if by is not RunBy.PROCESS:
        return
    for each in asked:
        settings = _all_changes((each,)).by(SettingEffect.NEW_POD)
        for one in dict.fromkeys((one.name, one.why) for one in settings):
            yield refused(
                "setting_needs_new_pod",
                f"The change of {one[0]} in pool {each.pool} needs new pods, and they are to stay: {one[1]}.",
                "Leave replace_pods at auto to have them replaced; or leave the setting as it is.",
            )


@as_verdict
def _judge_together(every: SettingChanges, by: RunBy, coordinated: Collection[str]) -> Iterator[Reason]:
    """Refusals of new pods for a change that needs all processes stopped at once."""
    if not coordinated:
        return
    why = enumerate_few(coordinated)
    if by is RunBy.POD:
        yield refused(
            "restart_together_by_pods",
            f"All processes have to stop before the first one starts (for {why}). New pods cannot do that, since each"
            " starts as soon as it is made.",
            "Leave replace_pods at auto.",
        )
    replaced = every.by(SettingEffect.NEW_POD)
    # With a setting that needs it, the changes themselves are refused.
    if replaced and not every.by(SettingEffect.COORDINATED):
        yield contradicting_effects(why, replaced)


@as_verdict
def _judge_agreed(every: SettingChanges) -> Iterator[Reason]:
    """Refusals of settings that members have to agree on, and that would differ among them."""
    wanted: dict[str, set[str | None]] = {}
    for each in every.by(SettingEffect.COORDINATED):
        wanted.setdefault(each.name, set()).add(each.after)
    for name, values in wanted.items():
        if len(values) > 1:
            yield refused(
                "setting_differs",
                f"The new configurations give {name} {len(values)} different values, and members that do not agree on"
                " it cannot be one cluster.",
                f"Give {name} the same value in the configuration of every member.",
            )


@as_verdict
def _judge_versions(asked: Iterable[PoolToRestart], replaced: Collection[str]) -> Iterator[Reason]:
    """Refusals of new pods that may run another version than the members do."""
    for each in asked:
        if not each.same_version and (names := each.due & {*replaced}):
            yield refused(
                "replacing_changes_version",
                f"New pods of pool {each.pool} ({enumerate_few(names)}) {OF_OTHER_VERSION[0]}",
                OF_OTHER_VERSION[1],
            )


@as_verdict
def _judge_kept(asked: Iterable[PoolToRestart], stay: Collection[str]) -> Iterator[Reason]:
    """Remarks on pods of an older template that stay."""
    for each in asked:
        if names := each.outdated & {*stay}:
            yield remark(
                "template_kept",
                f"The template of pool {each.pool} has changed. The processes of {enumerate_few(names)} restart in"
                " their pods, which stay on the older template.",
                "Run again with replace_pods: auto to have these pods replaced.",
            )


@as_verdict
def _judge_dynamic(asked: Iterable[PoolToRestart], due: Collection[str]) -> Iterator[Reason]:
    """A remark on settings for which nothing restarts, since the members take them while they run."""
    stay = [replace(each, changes=_without(each.changes, due)) for each in asked]
    if names := [one.name for one in _all_changes(stay).changes]:
        yield remark(
            "settings_dynamic",
            f"No member restarts for {enumerate_few(names)}: the members take that while they run.",
            "Set it with PUT _cluster/settings. The new configuration is written with the next restart that something"
            " else needs; replace_pods: never restarts for it all the same.",
        )


def _without(changes: Mapping[str, SettingChanges], names: Collection[str]) -> dict[str, SettingChanges]:
    return {name: found for name, found in changes.items() if name not in names}


def lines_of(asked: Sequence[PoolToRestart]) -> tuple[Line, ...]:
    """One line for each way in which a setting changes, with all members for which it does."""
    found: dict[tuple[str, str, SettingEffect, str, str], dict[str, list[str]]] = {}
    for each in asked:
        for member, changes in sorted(each.changes.items()):
            for one in changes.changes:
                key = (one.name, one.sentence().partition(" (")[0], one.way, one.why, one.source)
                found.setdefault(key, {}).setdefault(each.pool, []).append(member)
    sizes = {each.pool: len(each.changes) for each in asked}
    lines = (Line(*key, whose=_whose(members, sizes)) for key, members in found.items())
    return tuple(sorted(lines, key=lambda line: (-line.way.rank, line.name, line.whose)))


def _whose(members: Mapping[str, Sequence[str]], sizes: Mapping[str, int]) -> str:
    """The members in words: a pool for all of them that change."""
    whole = [pool for pool, names in members.items() if len(names) == sizes[pool]]
    single = [name for pool, names in members.items() if pool not in whole for name in names]
    pools = f"pool{'' if len(whole) == 1 else 's'} {enumerate_few(whole)}" if whole else ""
    return " and ".join(filter(None, (pools, enumerate_few(single) if single else "")))


def together_of(marks: Iterable[Marked]) -> list[str]:
    """Why pods restart all at once by their phase, in words; none if no pod has such a phase."""
    names = [mark.name for mark in marks if mark.phase in TOGETHER and not mark.stays_stopped]
    return [f"the phase of {enumerate_few(names)}"] if names else []


@as_verdict
def judge_course(
    choice: ChosenRestart, marks: Iterable[Marked], way: str, *, keeps: bool, allowed: bool
) -> Iterator[Reason]:
    """Whether the course of the run is possible, is agreed to, and fits the phases that pods have already.

    `keeps` says whether the process control keeps a process stopped, `allowed` whether the user agrees to the whole
    cluster being away.
    """
    if choice.course is not Course.COORDINATED:
        return
    if not keeps:
        yield refused(
            "together_needs_agent",
            f"All processes have to stop before the first one starts, and the way {way} cannot keep a process stopped:"
            " it comes back by itself.",
            "Use the way agent (upgrade_restart_way); or leave what needs it, which the plan names.",
        )
    if not allowed:
        yield refused(
            "full_restart_not_allowed",
            f"All {len(choice.due)} processes have to stop before the first one starts, so the whole cluster is away"
            " for that time.",
            "Allow it with allow_full_restart (upgrade_allow_full_restart); or leave what needs it, which the plan"
            " names.",
        )
    single = [mark.name for mark in marks if mark.phase and mark.phase not in TOGETHER and mark.name in choice.due]
    if single:
        yield refused(
            "phase_of_other_way",
            f"All processes have to stop at once, and {enumerate_few(single)} have the phase of a restart one after the"
            " other.",
            "Take the phase from these pods (process_restart with state unscheduled), or let the run that has set it"
            " end with the former settings. Then run again.",
        )
