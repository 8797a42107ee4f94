"""The text of a plan for people: about ten lines for three members, about twenty for a thousand. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...common.verdict import sentence_of
from ...common.words import counted, first_few
from ..pace import duration_text
from ..record.phases import Deed
from ..start.approvals import Approval, points_in, unapproved

MOST_ROWS = 12
"""Batches that are all shown. If there are more, those between the first and the last few are summed up."""
FIRST, LAST = 4, 3
"""Batches that are shown at the start and at the end of a plan that is summed up."""
MOST_LINES = 20
"""The most lines that are shown of those that the system adds."""
UPGRADE, RESTART = Deed.UPGRADE.value, Deed.RESTART.value
DEEDS = (UPGRADE, RESTART)
"""The kinds of work that a plan may be for."""
_CERTAINTY = {
    "guessed": " (a guess: nothing was measured here yet)",
    "partly": " (in part a guess: no batch was measured here yet)",
}
WIDEST = 44
"""Characters of the widest column of members that the others are aligned to."""


@dataclass(frozen=True)
class Words:
    """The words of a system in the text of its plans and ends."""

    unit: str = "member"
    system: str = ""
    """The name of the system for people."""
    changes: Sequence[str] = ()
    """Things that are changed during the run, and put back. Empty texts are left out, here and in `stays`."""
    stays: Sequence[str] = ()
    """Things that are changed and stay."""
    notes: Sequence[str] = ()
    """Sentences about what is special."""
    deed: str = UPGRADE
    """One of `DEEDS`."""

    def done(self, target: str) -> str:
        """The words for the work once it is done."""
        return f"upgraded to {target}" if self.deed == UPGRADE else "restarted"

    def units(self, count: int) -> str:
        """So many units."""
        return counted(count, self.unit)


def plan_lines(plan: Mapping[str, Any], words: Words, approvals: Sequence[Approval] = ()) -> list[str]:
    """The lines of a plan, which is the result of `upgrade_plan` or of another module that plans.

    `approvals` are those that the upgrade has already.
    """
    batches = plan["batches"]
    remarks = [one for one in plan["verdict"]["reasons"] if one["state"] == "passed"]
    notes = [f"  Note: {one}" for one in dict.fromkeys((*words.notes, *map(sentence_of, remarks)))]
    refused = [f"  - {one}" for one in refusals(plan["verdict"])]
    if not batches and not plan.get("asks_without_batches"):
        # A name that no member has, or a target that cannot be reached, leaves no batch, too.
        first = [_counts(plan, words, ()), *refused] if refused else [nothing_to_do(plan, words)]
        return [*first, *_lines_of(plan), *notes]
    going = {member for batch in batches for member in batch["members"]}
    return [
        _header(plan, words, going),
        *_earlier(plan),
        *_lines_of(plan),
        *(_rows(batches, words) if batches else ()),
        *_touched(words),
        *_points(plan, approvals),
        *notes,
        _counts(plan, words, going),
        *refused,
    ]


def refusals(verdict: Mapping[str, Any]) -> list[str]:
    """One line for each reason of a result that refuses: the cause, followed by its fix."""
    reasons = [one for one in verdict["reasons"] if one["state"] == "refused"]
    return list(dict.fromkeys(map(sentence_of, reasons)))


def other_order(shown: Sequence[Sequence[str]], batches: Sequence[Mapping[str, Any]]) -> str:
    """The sentence about an order that differs from the one shown; empty if it does not. The digest covers no order."""
    going = {member for batch in batches for member in batch["members"]}
    left = [each for each in ([name for name in names if name in going] for names in shown) if each]
    for number, (batch, before) in enumerate(zip(batches, left, strict=False), 1):
        if list(batch["members"]) != before:
            goes = "goes" if len(batch["members"]) == 1 else "go"
            where = "first" if number == 1 else f"in batch {number}"
            special = batch["reason"].removeprefix(batch.get("kind", "")).lstrip(";, ")
            why = f": {special}" if special else ""
            return f"{first_few(batch['members'])} {goes} {where}, which is not the order that was shown{why}."
    return ""


def nothing_to_do(plan: Mapping[str, Any], words: Words) -> str:
    """The line of a plan without any batch."""
    target, left, outdated = plan["target_version"], plan["left"], plan.get("outdated") or ()
    if words.deed == RESTART:
        return "Nothing to do: no member is to be restarted."
    if not left:
        return f"Nothing to do: every {words.unit} runs {target}."
    below = [name for name in left if name not in outdated]
    parts = [
        f"Nothing to do for the {words.unit}s that are planned for.",
        f"Not on {target}: {first_few(below)}." if below else "",
        f"Left on an older template: {first_few(outdated)}." if outdated else "",
    ]
    return " ".join(filter(None, parts))


def _header(plan: Mapping[str, Any], words: Words, going: Collection[str]) -> str:
    before, batches = plan["before"], plan["batches"]
    count = words.units(len(going)) if len(going) == len(before) else f"{len(going):,} of {words.units(len(before))}"
    whence = ", ".join(sorted({str(before[name]) for name in going if before.get(name)})) or "nothing that runs"
    name = plan.get("cluster_name") or plan.get("cluster_uuid") or ""
    system = f"({words.system})" if words.system else ""
    parts = [
        f"Plan {plan['digest']}",
        " ".join(filter(None, (name, system))),
        f"{whence} → {plan['target_version']}" if words.deed == UPGRADE else str(plan["target_version"]),
        ", ".join(filter(None, (count, counted(len(batches), "batch"), _predicted(plan)))) if batches else "",
    ]
    return "   ".join(filter(None, parts))


def _predicted(plan: Mapping[str, Any]) -> str:
    seconds = plan.get("predicted_seconds")
    if seconds is None:
        return ""
    return f"about {duration_text(seconds)}{_CERTAINTY.get(plan.get('prediction', ''), '')}"


def _earlier(plan: Mapping[str, Any]) -> Iterator[str]:
    earlier = plan.get("earlier") or {}
    if earlier:
        yield (
            f"  continues the upgrade that began at {earlier['started']}: "
            f"{earlier['done']} of {counted(earlier['done'] + len(plan['batches']), 'batch')} done"
        )


def _lines_of(plan: Mapping[str, Any]) -> Iterator[str]:
    """The lines that the system adds, such as one for each changed setting."""
    lines = plan.get("details") or ()
    yield from (f"  {line}" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"  {len(lines) - MOST_LINES:,} more lines like these are in the result"


def _rows(batches: Sequence[Mapping[str, Any]], words: Words) -> Iterator[str]:
    names = [first_few(batch["members"]) for batch in batches]
    wide = min(max(map(len, names)), WIDEST)
    kinds = max(len(batch.get("kind", "")) for batch in batches)
    digits, proof = len(str(len(batches))), ""
    hidden = range(FIRST, len(batches) - LAST) if len(batches) > MOST_ROWS else range(0)
    for number, (batch, name) in enumerate(zip(batches, names, strict=True)):
        if number in hidden:
            if number == hidden[0]:
                yield _summed_up(batches[hidden[0] : hidden[-1] + 1], hidden, words)
            continue
        why = "the same" if batch["proof"] == proof else _lower(batch["proof"])
        proof = batch["proof"]
        special = batch["reason"].removeprefix(batch.get("kind", "")).lstrip(";, ")
        cells = [f"{number + 1:>{digits}}", f"{name:<{wide}}", f"{batch.get('kind', ''):<{kinds}}"]
        yield "  " + "   ".join(filter(str.strip, (*cells, "; ".join(filter(None, (why, special))))))


def _summed_up(batches: Sequence[Mapping[str, Any]], numbers: range, words: Words) -> str:
    # In a chain several batches have the same members.
    members = len({name for batch in batches for name in batch["members"]})
    kinds = ", ".join(dict.fromkeys(batch["kind"] for batch in batches if batch.get("kind")))
    of = f" ({kinds})" if kinds else ""
    return (
        f"  {numbers[0] + 1} to {numbers[-1] + 1}   {words.units(members)}{of}, each with its own proof in the result"
    )


def _touched(words: Words) -> Iterator[str]:
    changes, stays = (", ".join(filter(None, each)) for each in (words.changes, words.stays))
    parts = [f"changes and puts back: {changes}" if changes else "", f"stays: {stays}" if stays else ""]
    if changes or stays:
        yield "  " + "     ".join(filter(None, parts))


def _points(plan: Mapping[str, Any], approvals: Sequence[Approval]) -> Iterator[str]:
    points = unapproved(points_in(plan.get("approvals") or ()), approvals)
    if points:
        yield f"  stops for approval: {', '.join(map(str, points))}"


def _counts(plan: Mapping[str, Any], words: Words, going: Collection[str]) -> str:
    refused = refusals(plan["verdict"])
    if refused:
        return f"Plan: it cannot be carried out, for {counted(len(refused), 'reason')}:"
    brought_back = {member for batch in plan["batches"] if batch.get("cures") for member in batch["members"]}
    replaced = {*(plan.get("outdated") or plan.get("replaced") or ())} & {*going}
    removed = {*(plan.get("removed") or ())} & {*going}
    upgraded = len(going) - len(replaced) - len(removed)
    there = sum(version == plan["target_version"] for name, version in plan["before"].items() if name not in removed)
    parts = [
        f"{upgraded:,} to {words.deed}" if upgraded or not (replaced or removed) else "",
        f"{len(replaced):,} to replace{' (template changed)' if plan.get('outdated') else ''}" if replaced else "",
        f"{len(plan.get('added') or ()):,} to add" if plan.get("added") else "",
        f"{len(removed):,} to remove" if removed else "",
        f"{len(brought_back):,} to fix first" if brought_back else "",
        f"{there:,} already on {plan['target_version']}" if words.deed == UPGRADE else f"{there:,} to leave alone",
        f"{len(plan['left']):,} left out" if plan["left"] else "",
    ]
    return f"Plan: {', '.join(filter(None, parts))}."


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
