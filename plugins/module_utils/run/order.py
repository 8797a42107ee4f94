"""The order of a run apart from its batches: the parts of each stage, and the hosts of its plays. Pure.

A part is a task file of the role `begin` or `finish`. If it has nothing to do, no task runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import Any

from ..common.verdict import Reason, State, Verdict, refused, sentence_of
from ..common.words import unique
from .start.schedule import TO_FIX, WINDOW_OVER

Plan = Mapping[str, Any]
"""The return values of a plan."""
GROUP = "stateful_upgrade_batches"
"""The group of the hosts that are batches, in their order, and of the hosts of their members."""
_OWN_GROUPS = re.compile(rf"{GROUP}(_\d+)?")


@dataclass(frozen=True)
class RunFacts:
    """The facts that decide on the next parts."""

    reserved: bool = False
    """Whether the inventory has hosts in the group that is reserved for the batches."""
    on_hosts: bool = False
    """Whether the members are on hosts of the inventory."""
    supersedes: bool = False
    """Whether a run at work is asked to stop, and an aborted upgrade continues without being resumed."""
    awaits: bool = False
    """Whether a run at work that is not asked to stop is waited for, since the request waits for its turn."""
    checks: bool = False
    """Whether it is check mode, in which no one is asked anything."""
    planned: bool = False
    refused: bool = False
    """Whether the plan cannot be carried out."""
    agreeable: bool = False
    """Whether the plan has a digest to consent to."""
    waits: bool = False
    """Whether the plan waits, so that this pass does nothing."""
    passed_over: bool = False
    """Whether this pass has ended because the plan waits."""
    lost: bool = False
    """Whether the plan takes members down on hosts that cannot be reached or seen."""
    stopped: bool = False
    """Whether a step or a batch has failed or waits, so the whole is not proven."""
    batches: bool = False
    commenced: bool = False
    """Whether a batch of the upgrade has begun in an earlier run."""
    silences: bool = False
    asks: bool = False
    """Whether consent to the plan is missing."""
    listens: bool = False
    """Whether anyone gets notices."""
    steps_before: bool = False
    steps_after: bool = False
    own_tasks_after: bool = False

    @property
    def had_batches(self) -> bool:
        """Whether the upgrade has a batch in this run, or had one in an earlier run that was killed."""
        return self.batches or self.commenced

    @property
    def ends(self) -> bool:
        """Whether there is a run to end."""
        return self.planned and not self.passed_over


class RunStage(str, Enum):
    """Stages of a run. The parts of a stage are chosen together."""

    TO_PLAN = "to_plan"
    TO_SHOW = "to_show"
    """For a plan that is only shown."""
    TO_LOCK = "to_lock"
    """From the plan to the lock."""
    TO_LINE_UP = "to_line_up"
    """From the lock to the batches."""
    TO_PUT_BACK = "to_put_back"
    """From the last batch until everything is put back."""
    TO_END = "to_end"


Part = tuple[str, Callable[[RunFacts], bool]]


def _always(_run: RunFacts) -> bool:
    return True


REFUSAL, STARTED = "refuse.yml", "notice.yml"
ORDER: Mapping[RunStage, Sequence[Part]] = {
    RunStage.TO_PLAN: (
        ("reserved.yml", lambda run: run.reserved),
        ("supersede.yml", lambda run: run.supersedes and not run.checks),
        ("await.yml", lambda run: run.awaits and not run.checks),
    ),
    RunStage.TO_SHOW: (
        (REFUSAL, lambda run: run.refused),
        ("give.yml", lambda run: run.agreeable),
        ("would_wait.yml", lambda run: run.agreeable and run.waits),
        ("lost_hosts.yml", lambda run: run.lost),
        ("no_plan.yml", lambda run: not run.agreeable),
    ),
    RunStage.TO_LOCK: (
        (REFUSAL, lambda run: run.refused),
        ("give.yml", lambda run: run.agreeable and run.checks),
        ("waiting.yml", lambda run: run.waits),
        ("lost_hosts.yml", lambda run: run.lost and not run.waits),
        ("silences.yml", lambda run: run.silences and run.batches and not run.waits),
        ("confirm.yml", lambda run: run.asks and not (run.waits or run.checks)),
        ("locked.yml", lambda run: not run.waits),
    ),
    RunStage.TO_LINE_UP: (
        (REFUSAL, lambda run: run.refused),
        (STARTED, lambda run: run.listens and run.batches),
        ("steps.yml", lambda run: run.steps_before and run.batches and not run.checks),
        ("line_up.yml", _always),
        ("sizes.yml", lambda run: run.on_hosts),
    ),
    RunStage.TO_PUT_BACK: (
        (REFUSAL, lambda run: not run.planned),
        ("prove.yml", lambda run: run.ends and not (run.stopped or run.checks)),
        ("put_back.yml", lambda run: run.ends),
    ),
    RunStage.TO_END: (
        ("steps.yml", lambda run: run.ends and run.steps_after and run.had_batches and not run.checks),
        ("own_tasks.yml", lambda run: run.ends and run.own_tasks_after and not run.checks),
        ("notice.yml", lambda run: run.ends and run.listens),
        ("end.yml", lambda run: run.ends),
    ),
}
"""The task files of each stage, with the condition on which each is due."""


def is_reserved(group: str) -> bool:
    """Whether a group of the inventory has a name that runs use: for all batches, or for a version of a chain."""
    return _OWN_GROUPS.fullmatch(group) is not None


def parts(stage: RunStage, run: RunFacts) -> list[str]:
    """The task files of a stage, in their order. A refusal ends the play, so nothing comes after it."""
    chosen = [part for part, due in ORDER[stage] if due(run)]
    return chosen[:1] if REFUSAL in chosen else chosen


@dataclass(frozen=True)
class HopOfPlan:
    """The batches of a plan that lead to the same version. A host can be in a play only once, so with members on hosts
    each version has plays of its own."""

    number: int
    batches: Sequence[Mapping[str, Any]]

    @property
    def groups(self) -> list[str]:
        """The groups of its hosts: the one of all, and from the second version an additional one."""
        return [GROUP] if self.number == 1 else [GROUP, f"{GROUP}_{self.number}"]


def hops_of(batches: Sequence[Mapping[str, Any]]) -> Iterator[HopOfPlan]:
    """The versions to which these batches lead, one after the other."""
    found = groupby(batches, lambda batch: batch.get("target_version") or "")
    for number, (_version, own) in enumerate(found, start=1):
        yield HopOfPlan(number, list(own))


def hop_with(batches: Sequence[Mapping[str, Any]], batch: Mapping[str, Any]) -> HopOfPlan:
    """The hop of these batches that has the batch of this name; if none has it, a hop with only that batch."""
    named = (hop for hop in hops_of(batches) if batch["name"] in {each["name"] for each in hop.batches})
    return next(named, HopOfPlan(1, [batch]))


def lined_up(
    plan: Plan, places: Mapping[str, str], deadline: int, number: int = 1, taken: Collection[str] = ()
) -> list[dict[str, Any]]:
    """The hosts of the next play: each batch by its name, followed by the hosts of its members (`places`), if any.

    With members on hosts these are the batches of one version; `number` is its place in the chain. A batch gets another
    name where the inventory has a host of its own (`taken`), which would become the batch, and local for later plays.
    """
    hop = _hop_at(plan, places, number)
    return [
        {**host, "groups": hop.groups, "version": batch.get("target_version") or plan.get("target_version")}
        for batch in hop.batches
        for host in _hosts_of(batch, places, deadline, taken)
    ]


def sizes(plan: Plan, places: Mapping[str, str], number: int = 1) -> list[int]:
    """The number of hosts of each batch: the batch itself, and the hosts of its members."""
    batches = _hop_at(plan, places, number).batches
    return [1 + (len(batch["members"]) if places else 0) for batch in batches]


def _hop_at(plan: Plan, places: Mapping[str, str], number: int) -> HopOfPlan:
    if not places:
        return HopOfPlan(number, plan["batches"])
    return next((hop for hop in hops_of(plan["batches"]) if hop.number == number), HopOfPlan(number, []))


def _hosts_of(
    batch: Mapping[str, Any], places: Mapping[str, str], deadline: int, taken: Collection[str]
) -> list[dict[str, Any]]:
    own = str(batch["name"])
    while own in taken:
        own = f"upgrade-{own}"
    whole = {
        "name": own,
        "label": f"{batch['name']}: {batch['reason']}; {batch['proof']}",
        "batch": batch,
        **({"places": dict(places)} if places else {}),
        "local": True,
    }
    members = [{"name": places[each], "label": each, "local": False} for each in batch["members"] if places]
    return [{**each, "of": own, "deadline": deadline} for each in (whole, *members)]


def lost_hosts(lost: Sequence[str]) -> dict[str, Any]:
    """The end of a run that cannot see all its hosts; `lost` has each one with its cause. See `not_begun`."""
    causes = "; ".join(each.rstrip(".") for each in lost)
    said = f"Nothing was begun, since members would be taken down on hosts that cannot be reached or seen: {causes}."
    remedy = "Fix the connection, or what has failed there, and run again."
    return not_begun(_refusal(refused("hosts_unreachable", said, remedy), calmly=False))


def disagreement(variable: str, digest: str, consent: str, answer: str) -> str:
    """Why a plan is not carried out, as the first part of a sentence; empty if it was agreed to.

    `consent` is the digest that the user has given beforehand as `variable`, and `answer` that of a person at a
    terminal, who is asked only if there is none.
    """
    if consent == digest or (not consent and answer.strip().lower() == "yes"):
        return ""
    if consent:
        return f"{variable} names the plan {consent}, and the plan is {digest}"
    return f"The plan {digest} was not confirmed"


def unconsented(digest: str, consent: str, answer: str) -> dict[str, Any]:
    """The refusal of a plan that was not agreed to; empty if it was.

    `consent` is the digest that the user has given beforehand, and `answer` that of a person at a terminal. A person
    who types anything but yes has seen the plan, and needs no advice (`calmly`).
    """
    typed, said = answer.strip(), disagreement("upgrade_confirm", digest, consent, answer)
    if not said:
        return {}
    if typed and not consent:
        calm = f"Nothing was done: plan {digest} was not confirmed."
        return _refusal(refused("not_confirmed", calm, ""), calmly=True)
    remedy = (
        f"Look at the plan above; to carry it out, run again with -e upgrade_confirm={digest}, or type yes when asked"
        " on a terminal (under AWX and ansible-runner no one is asked)."
    )
    return _refusal(refused("not_confirmed", f"{said}, so nothing was done.", remedy), calmly=False)


def unconsented_later(digest: str, consent: str) -> str:
    """The sentence on a plan that waits, and that was not agreed to: a run without a terminal would refuse it then."""
    said = disagreement("upgrade_confirm", digest, consent, "")
    return f"{said}. Without -e upgrade_confirm={digest} no run starts it, unless someone types yes at a terminal."


def _refusal(reason: Reason, *, calmly: bool) -> dict[str, Any]:
    return {"msg": reason.sentence(), "verdict": Verdict((reason,)).as_result(), "calmly": calmly}


def not_begun(result: Mapping[str, Any]) -> dict[str, Any]:
    """The end of a run whose plan waits, or that is refused, from the `result` that says so.

    It has the `state`, `cause` and `codes` of the notice, the `reasons`, their `sentences`, and the `statistics` for
    Ansible. Notice and statistics have the findings of an early look, too.
    """
    message = str(result.get("msg", ""))
    reasons = (result.get("verdict") or {}).get("reasons", ())
    deciding = [each for each in reasons if each["state"] == (State.REFUSED if message else State.WAITING).value]
    codes = unique(str(each["code"]) for each in deciding)
    messages = unique(str(each["message"]) for each in deciding)
    waiting = "delayed" if "start_delayed" in codes else "waiting"
    # That of a delay has all causes already, and is sent once.
    found = result.get("to_fix") or () if waiting == "waiting" and not message else ()
    messages = unique([*messages, *(f"{TO_FIX}{each['message']}" for each in found)])
    codes = unique([*codes, *(str(each["code"]) for each in found)])
    # The record of an upgrade that has missed its window has failed.
    ended = "failed" if WINDOW_OVER in codes else "refused"
    statistics = {
        "upgrade_state": "refused" if message else "waiting",
        "upgrade_waiting_for": [] if message else messages,
        "upgrade_reasons": codes,
    }
    return {
        "state": ended if message else waiting,
        "cause": message or " ".join(messages),
        "codes": codes,
        "reasons": deciding,
        "sentences": unique(sentence_of(each) for each in deciding),
        "statistics": {**statistics, **({"upgrade_cause": message} if message else {})},
    }
