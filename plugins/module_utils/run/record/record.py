"""The record of an upgrade: what was planned, its progress, and how long each member took. Pure.

It is for people and for reports. The next step is read from the cluster itself, never from here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...common.words import shortened
from ..counts import Counts
from ..start.approvals import Approval, Hold, Point, points_in
from ..start.recorded_start import Start
from ..start.request import Requested, requested_in
from .batch_events import with_batches
from .batches import (
    BatchRecord,
    Items,
    PoolRecord,
    ahead,
    batches_of,
    deed_of,
    left_by_run,
    outside_of,
    pools_of,
    rolled,
    with_done,
)
from .conditions import Condition, Upgrade, taken_since
from .events import EventKind, RecordedEvent, Risk, added, fields_of, happened, of_kind, one_sentence, risks_in
from .figures import longest_first
from .health_record import HealthRecord
from .phases import EXPLAINED, Deed, Phase, UpgradeEvent, follow
from .requests import newly_requested

SCHEMA = 2
LONGEST_MESSAGE = 2000
"""Characters of a message that the history keeps."""
VIEWS = ("all_events", "history", "hold", "approvals", "skipped", "consents", "risks", "notices", "health")
"""The views that a record has in results."""
KEPT_BY_RUNS = ("waited", "start", "conditions", "counts", "figures", "dropped", "uncounted")


@dataclass(frozen=True)
class Record:
    """One upgrade from A to B, over all the runs that it took."""

    cluster: str
    target_version: str
    digest: str
    run: str
    who: str
    phase: Phase
    reason: str
    """One sentence where the upgrade is Paused, Failed or Aborted, or a batch was stopped; else empty."""
    started: str
    updated: str
    batches: tuple[BatchRecord, ...] = ()
    events: tuple[RecordedEvent, ...] = ()
    """All that has happened, in the order in which it was first noted. The events of batches are derived from these."""
    pools: tuple[PoolRecord, ...] = ()
    """In the order of the plan; empty in a record that was written before they were kept."""
    outside: tuple[str, ...] = ()
    """The members of the cluster that are in none of these pools, and do not run the target version."""
    deployed_version: str = ""
    """The version of all members at the end of the last upgrade that completed; before the first one, the lowest
    version that any of them ran at its start. Empty if it was not kept."""
    system: str = ""
    """The upgraded system, such as a search engine; empty in a record that was written before it was kept."""
    deed: Deed = Deed.UPGRADE
    """The kind of work that it is of."""
    waited: Items = ()
    """The waits outside the batches, each with the part of the run that it was `during`, the longest first."""
    last: Items = ()
    """The figures of the upgrade before this one, see `pace.figures_of`; none if there was none."""
    start: Start | None = None
    """The times of its schedule; None if it has none."""
    conditions: tuple[Condition, ...] = ()
    """One for each step that the runs take outside the batches, in the order in which they were started."""
    points: tuple[Point, ...] = ()
    """The points at which a person must approve, as its last run had them."""
    codes: tuple[str, ...] = ()
    """The codes of the reasons why its last run ended or a batch was stopped; none while it continues."""
    counts: Counts | None = None
    """The things that the system has counted before and after; None if it counts none."""
    figures: HealthRecord | None = None
    """The figures of the cluster's health before the first batch, and now; None if none were measured."""
    upgrades: tuple[Upgrade, ...] = ()
    """The upgrades of the cluster, of which this one is the last."""
    request: Requested | None = None
    """The request that it carries out; None if only the variables of its runs ask for it."""
    dropped: int = 0
    """The number of batches that are done and are no longer in `batches`, because the record would be too long."""
    uncounted: int = 0
    """The number of members that an upgrade of which there was no record had brought to the target version."""
    schema: int = SCHEMA
    """The version of the format, raised if readers must change. Readers ignore fields that they do not know."""

    @property
    def all_events(self) -> tuple[RecordedEvent, ...]:
        """All that has happened, with the events of its batches, in the order of time."""
        return with_batches(self.events, self.batches)

    @property
    def history(self) -> tuple[RecordedEvent, ...]:
        """Its transitions, and those of the upgrades before it."""
        return tuple(each for each in self.events if each.phase)

    @property
    def person(self) -> str:
        """The person who has started the run, and with it given its consents; with the request if there is one."""
        return f"{self.who}, for the request {self.request.source}" if self.request is not None else self.who

    @property
    def hold(self) -> Hold | None:
        """The pause that a person has asked for; None without one."""
        for last in of_kind(self.events, EventKind.HELD, EventKind.RESUMED)[-1:]:
            return Hold(last.by, last.at, last.message) if last.kind == EventKind.HELD else None
        return None

    @property
    def approvals(self) -> tuple[Approval, ...]:
        """The approved points, each with the person and the time."""
        found = of_kind(self.events, EventKind.APPROVED)
        return tuple(Approval(each.about, each.by, each.at, each.message) for each in found)

    @property
    def skipped(self) -> tuple[str, ...]:
        """The checks that one of its runs was asked not to make, by name."""
        return tuple(sorted({each.about for each in of_kind(self.events, EventKind.SKIPPED)}))

    @property
    def consents(self) -> dict[str, str]:
        """The options that accept a risk, with their last values."""
        return {each.about: each.message for each in of_kind(self.events, EventKind.ACCEPTED)}

    @property
    def risks(self) -> tuple[Risk, ...]:
        """The risks that its runs accepted, and the checks that they skipped."""
        return risks_in(self.events)

    @property
    def notices(self) -> tuple[str, ...]:
        """The keys of the notices that were sent."""
        return tuple(each.about for each in of_kind(self.events, EventKind.NOTICED))

    @property
    def health(self) -> str:
        """The word of the system for its health at the end of the last run; empty if it was not seen."""
        seen = [each.message for each in of_kind(self.events, EventKind.HEALTH) if each.run == self.run]
        return seen[-1] if seen else ""

    @property
    def run_began(self) -> str:
        """The time at which its last run has begun."""
        return next((each.at for each in self.history if each.run == self.run), self.started)

    @property
    def cause(self) -> str:
        """The reason why it has stopped; empty once a person has let it continue, who is then its reason."""
        return "" if self.phase is Phase.PAUSED and not self.codes else self.reason

    @property
    def deployed(self) -> str:
        """The version that all members have, and the one that they are on the way to; empty if it was not kept."""
        going = self.deployed_version not in {"", self.target_version}
        return f"{self.deployed_version}, on the way to {self.target_version}" if going else self.deployed_version

    @property
    def aim(self) -> str:
        """The words for what it leads to, as in `begins: to 3.8.0`."""
        return f"to {self.target_version}" if self.deed is Deed.UPGRADE else self.deed.value

    @property
    def title(self) -> str:
        """The words for the whole, as in `The upgrade to 3.8.0 is Completed.`"""
        return f"upgrade {self.aim}" if self.deed is Deed.UPGRADE else self.deed.value

    @property
    def tries(self) -> tuple[BatchRecord, ...]:
        """Its batches, each after its earlier tries."""
        return tuple(each for batch in self.batches for each in (*batch.tries, batch))

    @property
    def batches_done(self) -> int:
        """The number of its batches that are done."""
        return self.dropped + sum(batch.state == "done" for batch in self.batches)

    @property
    def batches_passed(self) -> int:
        """The most batches that can be done: those of which there was no record had at least one member each."""
        return self.batches_done + self.uncounted

    @property
    def batches_planned(self) -> int:
        """The number of all its batches."""
        return self.dropped + len(self.batches)

    def as_result(self) -> dict[str, Any]:
        """Plain data."""
        whole = {**fields_of(self), **{each: getattr(self, each) for each in VIEWS}}
        return dict(json.loads(json.dumps(whole, default=fields_of)))

    def with_events(self, *fresh: RecordedEvent) -> Record:
        """The record with these events."""
        return replace(self, events=added(self.events, fresh))


NamedSteps = Callable[[Record], Sequence[Condition]]
"""Gives the steps that a system has names for, each with its state, including those that have not started."""
RequestStatus = Callable[[Record], "Mapping[str, Any] | None"]
"""Gives the status of the request of a record, with each of its members; None if the request names none."""


def begun(previous: Record | None, plan: Mapping[str, Any], run: str, who: str, at: str) -> Record | None:
    """The record at the start of a run: the same upgrade continues where its earlier runs stopped, another starts new.

    `plan` is the result of pool_order. Without a record, the cluster itself shows whether the upgrade is under way.
    None if there is nothing to do, and no earlier run to end: a restart ends no upgrade, and the reverse.
    """
    over = previous is None or previous.phase is Phase.COMPLETED or previous.deed is not deed_of(plan)
    if over and not plan["batches"]:
        return None
    earlier = going_on(previous, plan)
    fresh = planned_record(previous, earlier, plan, run, who, at)
    count = len({name for each in plan["batches"] for name in each["members"]})
    found = previous is None and bool(ahead(plan))
    if found:
        fresh = replace(fresh, phase=Phase.UPGRADING)
    said = "continues" if found or (earlier is not None and earlier.run) else "begins"
    said += f": {fresh.aim}, {count} member{'' if count == 1 else 's'}, plan {plan['digest']}"
    return noted(fresh, UpgradeEvent.AGREED, said, at)


def started_again(plan: Mapping[str, Any], run: str, who: str, at: str, paused: str = "") -> Record:
    """A new record of a run that is under way, with all that the run knows: the one from its start was removed.

    `plan` is the plan of its start. Its field `done` has the batches that are done, and their times. `paused` is the
    sentence about the pause for which the run ends; empty if no one has paused it.
    """
    fresh = planned_record(None, None, plan, run, who, at)
    if paused:
        fresh = fresh.with_events(happened(EventKind.HELD, at, run, message=paused, by="a person"))
    done = plan.get("done") or ()
    batches = with_done(fresh.batches, run, done)
    upgraded = [name for each in batches if each.state == "done" for name in each.upgraded]
    fresh = replace(
        fresh,
        started=plan.get("started") or at,
        batches=batches,
        pools=rolled(fresh.pools, upgraded, fresh.deed, done=True),
    )
    agreed = noted(fresh, UpgradeEvent.AGREED, f"was started again: it was removed while run {run} was at work", at)
    return replace(agreed, phase=Phase.UPGRADING) if done else agreed


def going_on(previous: Record | None, plan: Mapping[str, Any]) -> Record | None:
    """The previous record, if it is of the same upgrade, which is not completed and did not miss its window.

    A restart has the version of the cluster as its target. It is not the same as an unfinished upgrade to that version.
    """
    if previous is None or previous.phase is Phase.COMPLETED or (previous.phase is Phase.FAILED and not previous.run):
        return None
    return previous if leads_there(previous, plan) and previous.deed is deed_of(plan) else None


def leads_there(record: Record, plan: Mapping[str, Any]) -> bool:
    """Whether a record is of the cluster and of the version of a plan, whatever its kind of work."""
    return (record.cluster, record.target_version) == (plan["cluster_uuid"], plan["target_version"])


def planned_record(
    previous: Record | None, earlier: Record | None, plan: Mapping[str, Any], run: str, who: str, at: str
) -> Record:
    """The record of this plan before anything happens; `earlier` is the record of the same upgrade so far."""
    # The time before its start does not count.
    begun_before = earlier is not None and bool(earlier.run)
    record = Record(
        cluster=plan["cluster_uuid"],
        target_version=plan["target_version"],
        digest=plan["digest"],
        run=run,
        who=who,
        phase=earlier.phase if earlier is not None else Phase.NEW,
        reason="",
        started=earlier.started if earlier is not None and begun_before else at,
        updated=at,
        batches=batches_of(plan, earlier.batches, earlier.updated) if earlier is not None else batches_of(plan),
        events=earlier.events if earlier is not None else _lasting(previous),
        upgrades=previous.upgrades if previous is not None else (),
        pools=pools_of(plan),
        outside=outside_of(plan),
        system=plan.get("system", ""),
        deed=deed_of(plan),
        request=requested_in(plan.get("request") or {}),
        points=tuple(points_in(plan.get("approvals") or ())),
        deployed_version=(earlier.deployed_version if earlier is not None else "") or plan["deployed_version"] or "",
        **(
            {name: getattr(earlier, name) for name in KEPT_BY_RUNS}
            if earlier
            else {"uncounted": 0 if previous is not None and leads_there(previous, plan) else ahead(plan)}
        ),
    )
    by = record.person
    record = record.with_events(*newly_requested(record.events, record.request, at, who))
    consents, skipped = plan.get("consents") or {}, plan.get("skipped") or ()
    return record.with_events(
        *(happened(EventKind.ACCEPTED, at, run, name, value, by) for name, value in consents.items()),
        *(happened(EventKind.SKIPPED, at, run, name, by=by) for name in skipped),
    )


def _lasting(previous: Record | None) -> tuple[RecordedEvent, ...]:
    """The events that are kept for the next upgrade: the transitions, the requests, and a pause that is in force."""
    if previous is None:
        return ()
    paused = previous.hold is not None and previous.phase is not Phase.COMPLETED
    kinds = (EventKind.REQUESTED, EventKind.HELD) if paused else (EventKind.REQUESTED,)
    return tuple(each for each in previous.events if each.phase or each.kind in kinds)


def batch_changed(
    record: Record | None,
    name: str,
    state: str,
    at: str,
    took: Sequence[Mapping[str, Any]],
    waited: Sequence[Mapping[str, Any]],
    summary: str = "",
) -> Record | None:
    """The record after a batch started, ended or failed; None if no such batch was planned.

    Raises:
        Refusal: the upgrade is in a phase in which that cannot happen.
    """
    if record is None or all(each.name != name for each in record.batches):
        return None
    comes = (state, record.run, at, tuple(took), longest_first(waited))
    batches = tuple(each.come_to(*comes) if each.name == name else each for each in record.batches)
    changed = next(each for each in batches if each.name == name)
    # All steps before the first batch are done. One that is not is no step of this run: it was taken out.
    left = taken_since(record.conditions, record.run_began) if state == "upgrading" else record.conditions
    going, done = (() if changed.cures else changed.members), state == "done" and bool(changed.upgraded)
    return replace(
        record,
        phase=follow(record.phase, UpgradeEvent.STOPPED if state == "failed" else UpgradeEvent.BEGUN),
        reason=one_sentence(summary) or f"Batch {name} was stopped." if state == "failed" else "",
        batches=batches,
        conditions=left,
        pools=rolled(record.pools, going, record.deed, done=done),
        updated=at,
    )


def ended(record: Record | None, event: UpgradeEvent, message: str, at: str) -> Record | None:
    """The record after the end of a run, or of one that was found dead; None if there is nothing to note.

    Raises:
        Refusal: in its phase, the upgrade cannot end in this way.
    """
    if (
        record is None
        or record.phase is Phase.COMPLETED
        or (record.phase, event) == (Phase.ABORTED, UpgradeEvent.ABORTED)
    ):
        return None
    if event is UpgradeEvent.COMPLETED:
        # A step that no run takes any more would stay in progress forever.
        record = replace(record, conditions=taken_since(record.conditions, record.run_began))
        if record.pools and not record.outside and not any(pool.left for pool in record.pools):
            record = replace(record, deployed_version=record.target_version)
    else:
        # A run that was killed, or whose note was lost, has left its batch under way.
        record = replace(record, batches=left_by_run(record.batches, record.updated))
    return noted(record, event, message, at)


def noted(record: Record, event: UpgradeEvent, message: str, at: str) -> Record:
    """The record after an event of the whole upgrade.

    Raises:
        Refusal: it cannot happen in the present phase.
    """
    phase = follow(record.phase, event)
    first, *more = shortened(message, LONGEST_MESSAGE).split("\n")
    by = record.who if event is UpgradeEvent.AGREED else ""
    entry = RecordedEvent(at, record.run, phase.value, first, tuple(more), event.value, by=by)
    reason = ""
    if phase in EXPLAINED or event is UpgradeEvent.STOPPED:
        reason = one_sentence(message) or record.reason or f"The run gave no reason when it was {event.value}."
    return replace(record, phase=phase, reason=reason, updated=at).with_events(entry)
