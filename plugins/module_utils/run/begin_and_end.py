"""The start of a run, from its lock to its record, and its end, each as one piece of work.

Either a run has started completely, or it has given its lock back. The system provides the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ..common.errors import Refusal
from ..common.side_by_side import ParallelWork
from ..common.task import Contract, Outcome, Task, attempt
from ..common.verdict import Verdict, combine, refused
from .lock.lease import lease_of
from .lock.lock import StoreOf
from .output.plan_text import Words, other_order
from .pace import placed
from .record.phases import Deed

RECORDED = ("system", "request", "skipped", "consents", "started")
"""The fields that only the record of a run has, not its plan. Without a record there are none."""
Work = Callable[[Task], Outcome]
FROM_SHOWN = ("commenced", "predicted_seconds", "prediction")
"""The values that the plan of a run takes from the plan that was shown, which has them from earlier records."""


@dataclass(frozen=True)
class Parts:
    """The parts of the start and the end of a run."""

    hold: Work
    """Takes the lock. The outcome has it as `lock`."""
    under_lock: Callable[[Task], Task]
    """Gives the same task, which checks the lock before its looks and acts."""
    plan: Work
    """Makes the plan again. The outcome has its `digest`."""
    put_back: Work
    """Puts back the changes that an interrupted run has left."""
    note_begin: Callable[[Task, Outcome], Outcome]
    """Records the start of the run. It gets the outcome of the plan."""
    note_end: Work
    """Records how the run ended."""
    release: Work
    """Gives the lock back."""
    first: Callable[[Task, Outcome], Outcome] | None = None
    """Makes the first acts of the run, which are for all its batches. It gets the outcome of the plan."""


@dataclass(frozen=True)
class Counting:
    """The things that a system counts at the start and at the end of an upgrade, for its report."""

    things: str
    """The word for what is counted."""
    parts: str
    """The word for what holds it."""
    count: Callable[[Task], Mapping[str, int]]
    """Counts the things of each part, with one look."""


@dataclass(frozen=True)
class System:
    """The part of a system in the module that plans, begins and ends its runs."""

    name: str
    """The name in the record."""
    options: Mapping[str, dict[str, Any]]
    """The options of the module in addition to those of every run."""
    uuid: Callable[[Task], str]
    """Gives the UUID of the cluster, from which its lock and its record get their name."""
    order: Work
    """The batches in their order, each with its reason and its proof, and the `digest` of all that consent covers."""
    put_back: Work
    """Puts back the changes that an interrupted run has left."""
    preflight: Callable[[Task, Outcome], Iterable[ParallelWork]] = lambda _task, _order: ()
    """Further checks of the order, which it gets with what earlier records say of it (`commenced`, `earlier`). They run
    at the same time."""
    states: Mapping[str, Work] = field(default_factory=dict)
    """The further states of the module, after those of every run, each with its work under the lock. For them the
    module has the option `batch`: the members of the current batch, or none."""
    lock_store: StoreOf = lease_of
    """Gives the store of the lock of a run."""
    guess: int = 60
    """Seconds that a batch is assumed to last until one was measured."""
    announce: Callable[[Task, Outcome, Verdict], None] | None = None
    """Announces at another place that the order is refused, or that there is none: then its outcome has no fields."""
    notes_refusals: bool = False
    """Whether a plan that is refused before the first run of its upgrade gets a record."""
    first: Callable[[Task, Outcome], Outcome] | None = None
    """Makes the first acts of a run, which are for all its batches. It gets the outcome of the plan."""
    clean_up: Work | None = None
    """Removes what a run has needed, under its lock, after it has completed and before that is recorded. The
    upgrade is done, so the reasons of its verdict are remarks."""
    last: Work | None = None
    """Makes the last acts of a completed run, under its lock."""
    words: Callable[[Mapping[str, Any], Mapping[str, Any]], Words] = lambda _params, _plan: Words()
    """The words of its plans, from the options of the task and the result of `order`."""
    consents: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _params: {}
    """Further consents in its options, for the record: each by the name that sentences use, with its value."""
    deed: Deed = Deed.UPGRADE
    """The kind of work of its runs."""
    has_target: bool = True
    """Whether its runs lead to a version that the user names."""
    counting: Counting | None = None
    """None if nothing is counted."""
    options_of: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict
    """The options as the runs take them, from those that are given: one option of a system may expand to several."""


def begin(task: Task, parts: Parts, patience: float) -> Outcome:
    """Take the lock, plan again, put back the changes that an interrupted run has left, and record the start.

    If the plan is not the confirmed one, the lock is given back. All of this is waited for even in a single pass,
    which could neither continue nor end without it. In check mode no lock is taken, and nothing is recorded. `patience`
    is the time for the lock and for each API, in seconds, apart from the time for the cluster to be fit.
    """
    patient = with_arguments(task, wait=True, wait_timeout=patience)
    begun = (
        attempt(lambda given: _begun(given, parts), patient) if task.check_mode else _begun_with_lock(patient, parts)
    )
    # A start that is still waiting has not happened.
    return replace(begun, verdict=begun.verdict.without_waiting())


def end(task: Task, parts: Parts, patience: float) -> Outcome:
    """Record how the run ended, and give its lock back even if the record fails."""
    patient = with_arguments(task, wait=True, wait_timeout=patience)
    with _given_back_on_failure(patient, parts):
        recorded = attempt(lambda given: parts.note_end(parts.under_lock(given)), patient)
    released = attempt(parts.release, patient)
    verdict = combine((recorded.verdict, released.verdict))
    return Outcome(verdict, recorded.changed or released.changed, more=recorded.more)


def judge_same(digest: str, confirmed: str) -> Verdict:
    """Whether the plan is still the confirmed one."""
    if digest == confirmed:
        return Verdict()
    changed = f"The plan has changed since it was shown: it was {confirmed} and is {digest} now."
    return Verdict((refused("plan_changed", changed, "Run again, and look at the new plan."),))


def with_arguments(task: Task, **own: Any) -> Task:
    """The same task with these arguments."""
    return replace(task, params={**task.params, **own})


def part_of(task: Task, contract: Contract, run: Work, **own: Any) -> Outcome:
    """The outcome of another module's work, done in this task. It has changed something by its own acts alone."""
    return run(replace(task.part(), params=contract.arguments(task.params, **own)))


def counted(task: Task, counting: Counting | None) -> dict[str, Any]:
    """The things of each part, or why they were not counted: no upgrade fails because of a figure.

    Raises:
        Refusal: the run may no longer look.
    """
    if counting is None:
        return {}
    task.ask(lambda: None)
    words = {"things": counting.things, "parts": counting.parts}
    try:
        return {**words, "each": dict(counting.count(task))}
    except Refusal as error:
        return {**words, "missing": error.verdict.reasons[0].message}


@contextmanager
def _given_back_on_failure(task: Task, parts: Parts) -> Iterator[None]:
    """Give the lock back if the block raises an exception: an interruption, a timeout, a bug."""
    try:
        yield
    except BaseException:
        attempt(parts.release, with_arguments(task, wait=False))
        raise


def _begun_with_lock(task: Task, parts: Parts) -> Outcome:
    held = attempt(parts.hold, task)
    if not held.verdict.passed:
        return held
    locked = with_arguments(task, lock=held.more["lock"])
    with _given_back_on_failure(locked, parts):
        begun = attempt(lambda given: _begun(parts.under_lock(given), parts), locked)
    verdict = combine((held.verdict, begun.verdict))
    if verdict.passed:
        return replace(begun, verdict=verdict, more={**begun.more, "lock": held.more["lock"]})
    return replace(begun, verdict=combine((verdict, attempt(parts.release, locked).verdict)))


def _begun(task: Task, parts: Parts) -> Outcome:
    """The part of the start that is done under the lock."""
    plan = parts.plan(task)
    verdict = combine((plan.verdict, judge_same(str(plan.more["digest"]), task.params["confirmed"])))
    if not verdict.passed:
        return replace(plan, verdict=verdict)
    shown = task.params.get("shown") or {}
    if said := other_order([batch["members"] for batch in shown.get("batches", ())], plan.more["batches"]):
        task.progress(said)
    restored = parts.put_back(task.part())
    verdict = combine((verdict, restored.verdict))
    if verdict.passed and parts.first is not None:
        verdict = combine((verdict, parts.first(task.part(), plan).verdict))
    batches = plan.more["batches"]
    recorded: Mapping[str, Any] = {}
    if verdict.passed and not task.check_mode:
        noted = parts.note_begin(task, plan)
        verdict, recorded = combine((verdict, noted.verdict)), noted.more.get("record") or {}
    later = int(plan.more.get("later_batches") or 0)
    places = placed(batches, recorded.get("dropped", 0) + len(recorded.get("batches", ())), later)
    # The diff shows the settings that were put back; the rest of the outcome is the plan's.
    found = dict(restored.before if restored.after is None else restored.after)
    from_shown = {name: shown[name] for name in FROM_SHOWN if name in shown}
    kept = {name: recorded[name] for name in RECORDED if name in recorded}
    more = {**plan.more, **from_shown, "batches": places, "before": plan.before, "settings": found, "recorded": kept}
    return replace(restored, verdict=verdict, next=plan.next, more=more)
