"""The work of the module `alert_silence`: the silences of an upgrade are shown, held, and ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..common.arguments import CONNECTIONS, WAIT
from ..common.errors import Refusal
from ..common.task import Contract, Outcome, Task
from ..common.timestamps import timestamp_text, utc_now
from ..common.verdict import Reason, Verdict, as_verdict, remark
from .alertmanager import Alertmanager
from .alerts import Alert
from .selectors import Selector, selectors_in
from .server import Server
from .silences import Silence, lost, steps_to

ENDED = "ended_silence"
MOST = 5
"""The most alerts that a remark on a silence names."""
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 60},
        "state": {"type": "str", "default": "present", "choices": ["shown", "present", "absent"]},
        "silences": {"type": "list", "elements": "str", "default": []},
    },
    required_if=[("state", "present", ("lock",)), ("state", "absent", ("lock",))],
)


def alertmanager_of(params: Mapping[str, Any]) -> Alertmanager:
    """The Alertmanager of these arguments. No request is made yet.

    Raises:
        Refusal: its address cannot be used.
    """
    given, lock = params["alertmanager"], params["lock"] or {}
    server = Server("alertmanager", given)
    # The lock of a system without a UUID has the same name in every cluster.
    owner = " of ".join(filter(None, (lock.get("name", ""), given.get("cluster"))))
    return Alertmanager(server, owner, lock.get("run", ""), given["silence_duration"])


def run(task: Task) -> Outcome:
    """Show, hold or end the silences of the upgrade."""
    manager = alertmanager_of(task.params)
    wanted = selectors_in(task.params["silences"], "silences")
    if task.params["state"] == "shown":
        hidden = task.ask(lambda: [(each, manager.hidden_by(each)) for each in wanted])
        return Outcome(judge_hidden(hidden), more={"hidden": {each.text: len(found) for each, found in hidden}})
    keeps = wanted if task.params["state"] == "present" else []
    try:
        return _held(task, manager, keeps)
    except Refusal as error:
        if keeps:
            raise
        # The silences end by themselves, so this does not fail the run.
        said = " ".join(each.message for each in error.verdict.reasons)
        lasts = f"They end by themselves within {manager.duration.total_seconds():.0f} s."
        left = remark("silences_not_ended", f"The silences of the upgrade may not have been ended. {said} {lasts}")
        return Outcome(Verdict((left,)), bool(task.journal.as_result()))


def _held(task: Task, manager: Alertmanager, wanted: Sequence[Selector]) -> Outcome:
    """Bring the silences to those that are wanted. After an outage, what is missing is looked at again."""
    before = list[list[str]]()

    def hold() -> Verdict:
        known = manager.known()
        before.append(_texts([each for each in known if not each.is_over]))
        # After an outage, some may be over because this task has ended them.
        by_task = {act["id"] for act in task.journal.as_result() if act["action"] == ENDED}
        others = [each for each in known if each.id not in by_task]
        _bring(task, manager, wanted, known)
        # A run that ends its silences reports which of them had ended before.
        return judge_lost(lost(others, task.run, [] if wanted else selectors_in(task.params["silences"], "silences")))

    found = task.ask(hold)
    after = {"silences": sorted(each.text for each in wanted)}
    return Outcome(found, bool(task.journal.as_result()), {"silences": before[0]}, after)


def _bring(task: Task, manager: Alertmanager, wanted: Sequence[Selector], known: Sequence[Silence]) -> None:
    steps, now = steps_to(wanted, [each for each in known if not each.is_over]), utc_now()
    task.still_wanted()
    for selector in steps.made:
        with task.journal.doing(("made_silence", selector.text, {})):
            if not task.check_mode:
                manager.make(selector, now)
    for silence in [] if task.check_mode else manager.renew_due(steps.kept, now):
        task.journal.did("renewed_silence", silence.selector.text, id=silence.id)
    # A silence that replaces another is made before that one ends.
    for silence in steps.ended:
        with task.journal.doing((ENDED, silence.selector.text, {"id": silence.id})):
            if not task.check_mode:
                manager.end(silence)


@as_verdict
def judge_hidden(hidden: Sequence[tuple[Selector, Sequence[Alert]]]) -> Iterator[Reason]:
    """The alerts that the silences would hide now, as remarks."""
    for selector, alerts in hidden:
        named = [each.shown for each in alerts[:MOST]]
        more = f" and {len(alerts) - MOST} more" if len(alerts) > MOST else ""
        said = f"hides {', '.join(named)}{more}" if alerts else "hides no alert now"
        yield remark("silence_hides", f"The silence {selector.text} {said}.")


@as_verdict
def judge_lost(silences: Sequence[Silence]) -> Iterator[Reason]:
    """The silences that ended before the run did, as remarks."""
    for each in silences:
        how = "someone ended it" if each.ended_by_hand else "it was no longer renewed"
        yield remark(
            "silence_lost",
            f"The silence {each.selector.text} ended at {timestamp_text(each.ends)}, before the run ended: {how}.",
            "It was not made again, so alerts may have been sent since.",
        )


def _texts(silences: Sequence[Silence]) -> list[str]:
    return sorted(each.selector.text for each in silences)
