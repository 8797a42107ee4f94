"""The page `docs/reference/reasons.md`: every reason code with its states, and the sentence and remedy of its code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from tests.checks.tree import ROOT
from tests.pages.reading.sources import Sources
from tests.pages.reading.texts import FEW_WORDS, GAP, WORD, words
from tests.pages.reason_codes import MESSAGE, REMEDY, Codes, Made

PAGE = ROOT / "docs" / "reference" / "reasons.md"
_HEAD = f"""# Reasons

A reason has a state, a stable code, one sentence that names the thing at fault, and a remedy. Rely on codes, not on
sentences. The most severe reason decides a verdict. This page is made by code (`make pages`) from where reasons are
made: `{GAP}` stands for names and numbers.

- `refused`: a person has to act. The task fails. The next run continues, and leaves finished members alone.
- `waiting`: time will fix it. After `wait_timeout` it is refused, with `timed_out` added.
- `passed`: a remark, which stops nothing.

"Refused or waiting" is refused at once by a task that does not wait. The remedies of waiting reasons are for a wait
that takes too long; one without a remedy ends by itself.
"""
_COLUMNS = "\n| Code | State | Sentence | Remedy |\n|---|---|---|---|\n"
ROOMS = {
    "common": "Any module",
    "run": "The run: its lock and its record",
    "monitoring": "Alerts, dependencies and soak",
    "kubernetes": "Kubernetes: reaching it, its nodes and pods",
    "pools": "Kubernetes: the pool, its images and volumes",
    "workloads": "Databases on machines that go down",
    "draining": "Drains of Kubernetes nodes",
    "opensearch/judge": "OpenSearch: plan, gates and settings",
    "opensearch/observe": "OpenSearch: reaching it",
    "opensearch": "OpenSearch: what a run changes",
    "restart": "Restarts and configurations",
    "longhorn": "Longhorn",
    "machines": "Machines",
    "extra_machines": "Extra machines",
    "openshift": "OpenShift",
    "fleet": "Fleets",
}
"""Folder of plugins/module_utils → the heading of its codes, the most general one first."""
OF_TASKS = "The run: outside its modules"
_GIVEN_BY_TASKS = {
    "inputs_wrong": (
        "Variables of the playbook are unknown or wrong. Nothing was done.",
        "Correct all that are named.",
    ),
    "own_tasks_failed": (
        "A task of your own failed, and the upgrade stopped there.",
        "Fix the cause, and run again.",
    ),
    "request_invalid": (
        "Variables of the request are unknown or wrong. Nothing was done.",
        "Correct all that are named.",
    ),
    "step_failed": ("A step failed more often than it may.", "Fix the cause, and run again from the first step."),
}
"""Code → meaning and remedy, of the codes that tasks give: the sentence is that of the task which failed."""
OF_CAUSE = "The remedy of the cause that the sentence names."
"""The remedy of a reason that hands on another one's."""
INFLECTED = frozenset({"is", "are", "was", "were", "has", "have", "does", "do", "it", "its", "them", "they", "their"})
"""Words that depend on the number of things."""
SHORT = 200
"""The most characters of two sentences together."""
_CODE = re.compile(r"(`[^`]*`)")
_MARKUP = re.compile(r"([*<\[\]])")


@cache
def codes() -> Codes:
    """All codes; reading all plugins takes seconds, and the page needs them as its test does."""
    return Codes(Sources.below(ROOT, "plugins"))


def page() -> str:
    """The whole page: the codes by the folder in which they are made, the most general one if there are several."""
    known = codes()
    parts = [_HEAD]
    rows: dict[str, list[str]] = {room: [] for room in ROOMS}
    for code in sorted(known.made):
        places = sorted(known.made[code], key=lambda each: list(ROOMS).index(room_of(each)))
        rows[room_of(places[0])].append(_row(code, known.states(code), *shown(known, places)))
    for room, heading in ROOMS.items():
        parts += [f"\n## {heading}\n", _COLUMNS, *rows[room]]
        if room == "run":
            parts += [
                f"\n## {OF_TASKS}\n\nThese codes are in the statistics of a run, its record and notices.\n",
                _COLUMNS,
            ]
            parts += [_row(code, ["refused"], *each) for code, each in sorted(_GIVEN_BY_TASKS.items())]
    return "".join(parts)


def given_by_tasks() -> set[str]:
    """The codes of tasks that the page has."""
    return {*_GIVEN_BY_TASKS}


def room_of(made: Made) -> str:
    """The folder that a code belongs to: the longest one of the table that has the place where it is made."""
    path = made.source.name.removeprefix("plugins/module_utils/")
    return max((room for room in ROOMS if path.startswith(f"{room}/")), key=len)


def shown(known: Codes, places: Sequence[Made]) -> tuple[str, str]:
    """The sentences and the remedies of a code, of which each is short or single."""
    said = [each.texts(known.reader, MESSAGE) for each in places]
    best = _best(map(_best, said))
    advice = [each.texts(known.reader, REMEDY) for each in places]
    first = _best(advice[[_best(each) for each in said].index(best)])
    if words(first) < FEW_WORDS - 1:
        first = _best(map(_best, advice))
    return _together(best, said), OF_CAUSE if first == GAP else _together(first, advice)


def _best(texts: Iterable[str]) -> str:
    """The first whole sentence, or else the text with the most words."""
    known = list(texts)
    return next((each for each in known if _is_whole(each)), max(known, key=words, default=""))


def _is_whole(text: str) -> bool:
    return words(text) >= FEW_WORDS + 1 and text.endswith((".", "!", "?", f" {GAP}"))


def _together(first: str, others: Iterable[Iterable[str]]) -> str:
    """The first text, and the next one that says something else, if both are short."""
    texts = [text for each in others for text in each]
    more = [each for each in texts if _is_whole(each) and len(first + each) <= SHORT and _says_else(first, each)]
    return "<br>".join(map(_escaped, [first, *more[:1]]))


def _says_else(one: str, other: str) -> bool:
    """Whether each text has a word of its own, other than a plural or one of `INFLECTED`."""
    known = [{word.lower() for word in WORD.findall(text)} - INFLECTED for text in (one, other)]
    return all(
        any(not any(word.startswith(same[:-1]) or same.startswith(word[:-1]) for same in there) for word in here)
        for here, there in (known, reversed(known))
    )


def _row(code: str, states: Sequence[str], sentence: str, remedy: str) -> str:
    return f"| `{code}` | {' or '.join(states)} | {sentence} | {remedy} |\n"


def _escaped(text: str) -> str:
    """The text as a cell of a table shows it; what is between backticks stays as it is."""
    parts = (each if each.startswith("`") else _MARKUP.sub(r"\\\1", each) for each in _CODE.split(text))
    return "".join(parts).replace("|", r"\|")
