"""The work of the module that plans, begins and ends the runs of a system, made of the system's parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from ..common.arguments import CONNECTIONS, RECORD, WAIT
from ..common.errors import Refusal
from ..common.side_by_side import ParallelWork, side_by_side
from ..common.task import Contract, Outcome, Task, attempt
from ..common.timestamps import now_text, utc_now
from ..common.verdict import State, Verdict, combine
from ..common.waiting import FIRST_ANSWER
from ..common.words import printable
from .begin_and_end import Parts, System, begin, counted, end, judge_same, part_of, with_arguments
from .lock import upgrade_lock
from .lock.guarding import under_lock
from .lock.held_lock import who
from .lock.lock import name_for
from .lock.upgrade_lock import manage_lock
from .output.plan_text import Words, plan_lines
from .pace import earlier_of, has_commenced, placed, seconds_a_batch
from .record import kept_in, upgrade_record
from .record.batches import ahead, deed_of
from .record.phases import Phase, UpgradeEvent
from .record.record import Record, going_on, leads_there, planned_record
from .record.record_keeping import MOST, read_records
from .record.requests import judge_standing
from .record.room import SURE, judge_room
from .start.approvals import Approval, covered, judge_aborted, judge_hold, judge_reached, points_in
from .start.early_look import EARLY, early_questions
from .start.refused_plan import note_outcome
from .start.request import REQUESTED, judge_due, requested_in
from .start.schedule import SCHEDULE, judge_held, judge_window, schedule_in, to_fix
from .start.start import start_of, start_under_lock
from .steps import STARTS

FIT = 120
"""Seconds for the system to become fit, before anything has started. A cluster that takes longer needs a person, or
time; the same plan can be made again later."""
OF_EVERY_RUN = ("planned", "begun", "ended")
"""The states of the module of every system."""
CONSENTS = ("allow_", "accept_", "take_over", "supersede")
"""How the names of options start that accept a risk."""
PATIENCE = upgrade_lock.CONTRACT.argument_spec["wait_timeout"]["default"]
"""Seconds for the lock and for each API, independent of the time for the system to be fit."""


def contract_of(system: System) -> Contract:
    """The options of the system's module: its own, and those that every run has."""
    return Contract(
        argument_spec={
            "namespace": {"type": "str"},
            **system.options,
            **CONNECTIONS,
            **RECORD,
            **WAIT,
            **SCHEDULE,
            **EARLY,
            "wait_timeout": {"type": "int", "default": FIT},
            "announce": {"type": "bool", "default": False},
            "show": {"type": "bool", "default": False},
            "state": {"type": "str", "default": "planned", "choices": [*OF_EVERY_RUN, *system.states]},
            "target_version": {"type": "str"},
            **({"batch": {"type": "list", "elements": "str", "default": []}} if system.states else {}),
            "confirmed": {"type": "str"},
            "supersede": {"type": "bool", "default": False},
            "request": REQUESTED,
            "shown": {"type": "dict", "default": {}},
            **{name: upgrade_lock.CONTRACT.argument_spec[name] for name in ("kept_in", "lease_duration", "take_over")},
            **{
                name: upgrade_record.CONTRACT.argument_spec[name]
                for name in (
                    "event",
                    "summary",
                    "codes",
                    "health",
                    "acts",
                    "waited",
                    "green_seconds",
                    "approvals",
                    "plan",
                )
            },
        },
        required_if=[
            ("record_kept_in", "kubernetes", ("namespace",)),
            *([("state", "planned", ("target_version",))] if system.has_target else []),
            ("state", "begun", ("target_version", "confirmed") if system.has_target else ("confirmed",)),
            ("state", "ended", ("event", "lock")),
        ],
        # It takes the lock when a run starts, and gives it back when the run ends.
        guarded=False,
    )


def work_of(system: System) -> Callable[[Task], Outcome]:
    """The work of the system's module, which brings the plan, or what the system itself says, into the wanted state."""

    def run(task: Task) -> Outcome:
        state = task.params["state"]
        task = replace(task, params=system.options_of(task.params))
        if state in system.states:
            return system.states[state](under_lock(task, system.lock_store) if task.params["lock"] else task)
        if state == "ended":
            return end(task, _parts_of(system), PATIENCE)
        if state == "begun":
            return _named(task, system, begin(task, _parts_of(system), PATIENCE))
        return _named(task, system, attempt(lambda given: _planned(given, system), task))

    return run


def _named(task: Task, system: System, outcome: Outcome) -> Outcome:
    """The outcome with the kind of work and the UUID of the cluster, which name it in figures and notices."""
    if outcome.verdict.passed or task.check_mode or not task.params["announce"]:
        return outcome
    more = {"deed": system.deed.value, **outcome.more}
    if "cluster_uuid" not in more:
        with suppress(Refusal):
            more["cluster_uuid"] = system.uuid(with_arguments(task, wait=False))
    return replace(outcome, more=more)


def _planned(task: Task, system: System) -> Outcome:
    try:
        return _plan(task, system)
    except Refusal as error:
        _announce_raised(task, system, task.verdict_of(error))
        raise


def _parts_of(system: System) -> Parts:
    lock = _lock_of(system)

    def hold(task: Task) -> Outcome:
        return part_of(task, upgrade_lock.CONTRACT, lock, state="held", lock=None, cluster_uuid=system.uuid(task))

    def release(task: Task) -> Outcome:
        return part_of(replace(task, guard=None), upgrade_lock.CONTRACT, lock, state="released")

    def locked(task: Task) -> Task:
        return under_lock(task, system.lock_store)

    def note_begin(task: Task, plan: Outcome) -> Outcome:
        found = counted(task, system.counting) if plan.more["batches"] else {}
        return _record(task, state="begun", plan={**plan.more, **_around(task, plan, system)}, counted=found)

    def note_end(task: Task) -> Outcome:
        if task.params["event"] != UpgradeEvent.COMPLETED.value:
            return _record(task, state="ended", counted={})
        remarks = system.clean_up(task).verdict if system.clean_up else Verdict()
        noted = _record(task, state="ended", counted=counted(task, system.counting))
        noted = replace(noted, verdict=combine((remarks, noted.verdict)))
        if system.last is None:
            return noted
        done = system.last(task)
        return replace(noted, verdict=combine((noted.verdict, done.verdict)), changed=noted.changed or done.changed)

    def plan(task: Task) -> Outcome:
        order = _order(task, system)
        schedule = schedule_in(task.params)
        # The plan was shown long ago, perhaps: someone may have aborted the upgrade since.
        _place, records = _records_of(task, order.more, waits=True)
        start = start_under_lock(task, order.more, records, system.deed)
        more = {**order.more, "pause_at": schedule.pause_at, STARTS: schedule.start_until} if schedule else order.more
        return replace(order, verdict=combine((order.verdict, start, *_aborted(task, order.more, records))), more=more)

    return Parts(hold, locked, plan, system.put_back, note_begin, note_end, release, system.first)


def _lock_of(system: System) -> Callable[[Task], Outcome]:
    """The work of the module `upgrade_lock` for this system."""
    return partial(manage_lock, store_of=system.lock_store, identity_of=system.uuid)


def _order(task: Task, system: System) -> Outcome:
    """The order of the system. Consent covers the points to approve as well, whatever the system is."""
    order, approvals = system.order(task), task.params["approvals"]
    if not order.more.get("digest"):
        return order
    digest = covered(str(order.more["digest"]), points_in(approvals))
    own = {"digest": digest, "approvals": approvals, "deed": system.deed.value}
    return replace(order, more={**order.more, **own, "unit": _words(task, system, order.more).unit})


def _around(task: Task, plan: Outcome, system: System) -> dict[str, Any]:
    """What the record needs in addition to the plan."""
    return {
        "before": plan.before,
        "system": system.name,
        "deed": system.deed.value,
        "request": task.params["request"],
        "skipped": list(task.params.get("skip_checks") or ()),
        "consents": {
            **consents_in(task.params),
            **_as_texts(system.consents(task.params)),
            **_ignored_alerts(task.params),
        },
    }


def consents_in(params: Mapping[str, Any]) -> dict[str, str]:
    """The options of a system that accept a risk, and were given, each with its value; empty for one that is a flag."""
    given = {name: value for name, value in params.items() if name.startswith(CONSENTS) and value}
    return _as_texts(given)


def _ignored_alerts(params: Mapping[str, Any]) -> dict[str, str]:
    """The ignored alerts, each with its last day, its reason and its owner."""
    ignored = params.get("ignored") or ()
    said = [f"{each['alerts']} until {each['until']}: {each['reason']} ({each['owner']})" for each in ignored]
    return {"alerts_ignored": "; ".join(said)} if said else {}


def _as_texts(given: Mapping[str, Any]) -> dict[str, str]:
    lists = {
        name: [] if value is True else [value] if isinstance(value, str) else value for name, value in given.items()
    }
    return {name: ", ".join(map(str, values)) for name, values in lists.items()}


def _record(task: Task, **own: Any) -> Outcome:
    return part_of(task, upgrade_record.CONTRACT, upgrade_record.run, **own)


def _plan(task: Task, system: System) -> Outcome:
    """The plan with a verdict on it. Nothing is changed."""
    order = _order(replace(task, first_answer=FIRST_ANSWER), system)
    place, records = _records_of(task, order.more)
    from_records = _from_records(task, order.more, system.guess, records)
    planned = replace(order, more={**order.more, **from_records})
    further = (*system.preflight(task, planned), *early_questions(task, planned.more))
    found = side_by_side(task, [*further, _look_at_lock(task.params, order.more, system)])
    confirmed, digest = task.params["confirmed"], str(order.more["digest"])
    same = judge_same(digest, confirmed) if confirmed else Verdict()
    plan = {**planned.more, **_around(task, order, system)}
    reached = judge_reached(points_in(task.params["approvals"]), _in_all(plan, records))
    window = _window_of(task, system, planned.more)
    verdict = combine((order.verdict, *(outcome.verdict for outcome in found), same, place, reached, window))
    going = next((one for one in records if going_on(one, planned.more) is not None), None)
    verdict = combine((verdict, _judge_room(task, plan, going)))
    start = start_of(task, plan, records, verdict)
    people = tuple(_said_by_people(task, plan, records))
    whole = combine((verdict, start, *people))
    wanted = task.params["announce"] and not task.check_mode
    if system.announce and wanted and whole.state is State.REFUSED:
        system.announce(task, order, whole)
    if wanted and start.state is not State.WAITING:
        note_outcome(task, plan, whole, records, recorded=system.notes_refusals)
    if start.state is State.WAITING and not task.params["wait"]:
        whole = combine((to_fix(verdict), *people, start))
        planned = replace(planned, more={**planned.more, "to_fix": _early_findings(task, verdict)})
    return _shown(task, system, replace(planned, verdict=whole), going.approvals if going is not None else ())


def _judge_room(task: Task, plan: Mapping[str, Any], earlier: Record | None) -> Verdict:
    """Whether the record of this plan, which continues the `earlier` one, would have all of its batches."""
    if len(plan["batches"]) <= SURE or task.params["record_kept_in"] == "none":
        return Verdict()
    return judge_room(planned_record(earlier, earlier, plan, task.run, who(), now_text()), MOST)


def _announce_raised(task: Task, system: System, verdict: Verdict) -> None:
    """Announce a refusal for which there is no plan. Nothing fails, or waits, if that cannot be done."""
    wanted = task.params["announce"] and not task.check_mode
    if system.announce and wanted and verdict.state is State.REFUSED:
        with suppress(Refusal):
            system.announce(with_arguments(task, wait=False), Outcome(Verdict()), verdict)


def _window_of(task: Task, system: System, more: Mapping[str, Any]) -> Verdict:
    """The remarks on a schedule that does not do what its options may seem to say."""
    if not more["batches"]:
        return Verdict()
    held = judge_held(schedule_in(task.params), utc_now(), system.deed) if more["commenced"] else Verdict()
    return combine((judge_window(task.params, system.deed), held))


def _early_findings(task: Task, verdict: Verdict) -> list[dict[str, str]]:
    """The refusals that an early look has found, which its notice names."""
    schedule = schedule_in(task.params)
    looked = schedule is not None and schedule.has_early_look(utc_now())
    return [each.as_result() for each in verdict.reasons if looked and each.state is State.REFUSED]


def _shown(task: Task, system: System, planned: Outcome, approvals: Sequence[Approval]) -> Outcome:
    """The plan with its text, which is shown if that is wanted. `approvals` are those of the upgrade so far."""
    plan = {**planned.more, "before": planned.before, "verdict": planned.verdict.as_result()}
    lines = plan_lines(plan, _words(task, system, planned.more), approvals)
    for line in lines if task.params["show"] else ():
        task.voice.show(line)
    return replace(planned, more={**planned.more, "lines": [printable(line) for line in lines]})


def _words(task: Task, system: System, more: Mapping[str, Any]) -> Words:
    return replace(system.words(task.params, more), deed=system.deed.value)


def _said_by_people(task: Task, plan: Mapping[str, Any], records: Sequence[Record]) -> Iterator[Verdict]:
    """Whether people let the upgrade of this plan continue."""
    requested = requested_in(task.params["request"] or {})
    yield from _aborted(task, plan, records)
    for one in records:
        if one.phase is not Phase.COMPLETED:
            yield judge_hold(one.hold)
        yield judge_standing(one.events, requested)
        if plan["batches"] and one.phase is Phase.COMPLETED:
            yield judge_due(requested, one.request, one.updated)


def _aborted(task: Task, plan: Mapping[str, Any], records: Sequence[Record]) -> Iterator[Verdict]:
    """Whether no one has aborted the upgrade of this plan, or that before this restart; see `leads_there`.

    One that supersedes another needs no resume.
    """
    for one in records:
        if plan["batches"] and leads_there(one, plan) and not task.params["supersede"]:
            yield judge_aborted(one.phase, one.target_version, one.reason, one.updated)


def _look_at_lock(params: Mapping[str, Any], more: Mapping[str, Any], system: System) -> ParallelWork:
    # Another pass would start its watch on a lock again, and never find that the holder is dead.
    own = {"state": "free", "lock": _own_lock(params, more), "cluster_uuid": more["cluster_uuid"], "wait": True}
    return ParallelWork(_lock_of(system), upgrade_lock.CONTRACT.arguments(params, **own))


def _own_lock(params: Mapping[str, Any], more: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The lock of this run, if it is that of this cluster; None if it is another cluster's."""
    lock = params["lock"]
    return lock if lock and lock["name"] == name_for(more["cluster_uuid"]) else None


def _from_records(task: Task, more: Mapping[str, Any], guess: int, records: Sequence[Record]) -> dict[str, Any]:
    """The place and the time of the batches, from earlier records."""
    pace = seconds_a_batch(records)
    batches = more["batches"]
    target = task.params["target_version"] or more["target_version"]
    earlier, later = earlier_of(records, target, more), int(more.get("later_batches") or 0)
    return {
        "batches": placed(batches, earlier.get("done", 0) + len(batches), later),
        "earlier": earlier,
        "commenced": bool(more.get("commenced")) or has_commenced(records, target, more["cluster_uuid"], deed_of(more)),
        "begun_at": next((one.started for one in records if one.run and going_on(one, more) is not None), ""),
        **_prediction(len(batches) + later, pace, guess, more.get("measured") or {}),
    }


def _in_all(plan: Mapping[str, Any], records: Sequence[Record]) -> int:
    """The number of batches of the upgrade, with those that points to approve count as done; 0 if none is left."""
    left = len(plan["batches"]) + int(plan.get("later_batches") or 0)
    uncounted = next((one.uncounted for one in records if leads_there(one, plan)), ahead(plan))
    return left and left + int(plan["earlier"].get("done", 0)) + uncounted


def _prediction(batches: int, pace: float | None, guess: int, measured: Mapping[str, int]) -> dict[str, Any]:
    """The time of the batches. `measured` has the number of those whose `seconds` the system itself has measured."""
    known = measured.get("batches", 0)
    seconds = pace * batches if pace is not None else measured.get("seconds", 0) + guess * (batches - known)
    certain = "partly" if known and pace is None else "guessed" if pace is None else "measured"
    return {"predicted_seconds": round(seconds) if batches else None, "prediction": certain}


def _records_of(task: Task, more: Mapping[str, Any], *, waits: bool = False) -> tuple[Verdict, list[Record]]:
    """The records of the cluster, and the verdict on their place. If it `waits`, an outage does not hide them."""
    try:
        store = kept_in.store_of(task.params)
    except Refusal as error:
        return error.verdict, []
    try:
        records, _remarks = task.ask(lambda: read_records(store)) if waits else read_records(store)
    except Refusal:
        return Verdict(), []
    return Verdict(), [record for record in records.values() if record.cluster == more["cluster_uuid"]]
