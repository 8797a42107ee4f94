"""The invariants of a Longhorn: sentences of what is wrong in an observation, or in what a run does. Pure.

An act is judged by the truth. Something that others have changed is no fault of the run as long as no look of it could
show that, so `seen` is the truth at the last look.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.runs.observer.longhorn.sight import Place, Sight, Volume
from tests.runs.observer.rules import listed


@dataclass(frozen=True)
class Consents:
    """The risks that the user has accepted."""

    replacement: bool = False
    """The instance manager is replaced under attached volumes, whose frontends may be lost."""
    one_object: bool = False
    """Longhorn goes from node to node by itself, so that several are in work."""

    @classmethod
    def of(cls, variables: Mapping[str, Any]) -> Consents:
        """The consents in the variables of a run."""
        replacement = "instance_manager_replacement" in variables.get("upgrade_accept_unverified", ())
        return cls(replacement, bool(variables.get("upgrade_one_object")))


def kept_copies(now: Sight, seen: Sight, node: str) -> Iterator[str]:
    """Each attached volume keeps a copy outside the Kubernetes node."""
    for name, volume in now.volumes.items():
        before = seen.volumes.get(name, Volume())
        if not volume.attached or not volume.copies & {node} or volume.copies - {node}:
            continue
        if before.attached and not before.copies - {node}:
            yield f"node {node} is changed, which has the last copy of volume {name}"


def without_engine(now: Sight, seen: Sight, node: str) -> Iterator[str]:
    """No engine of an attached volume is on the Kubernetes node."""
    for name, volume in now.volumes.items():
        if volume.attached and node in volume.engines & seen.volumes.get(name, Volume()).engines:
            yield f"the instance manager of node {node} is removed, in which the engine of volume {name} runs"


def without_job(now: Sight, seen: Sight, node: str) -> Iterator[str]:
    """No recurring job is at work on a volume of the Kubernetes node."""
    for name in sorted(now.at_work & seen.at_work):
        if now.volumes.get(name, Volume()).near(node):
            yield f"node {node} is changed, and a recurring job is at work on volume {name}"


def no_late_job(now: Sight, before: Sight, held: Mapping[str, Collection[str]]) -> Iterator[str]:
    """No recurring job starts on a Kubernetes node while it is changed, if it was suspended when that began.

    `held` are those jobs by Kubernetes node.
    """
    for node, jobs in held.items():
        for job in sorted({*jobs} & now.works.keys() - before.works.keys()):
            there = sorted(each for each in now.works[job] if now.volumes.get(each, Volume()).near(node))
            if there:
                yield f"recurring job {job} starts on volume {there[0]} while node {node} is changed"


def alone(now: Sight, node: str, consents: Consents) -> Iterator[str]:
    """No other Kubernetes node is in work, unless Longhorn goes from node to node by itself."""
    others = {*now.marks, *(each for found in now.upgrades.values() for each in found)} - {node}
    if others and not consents.one_object:
        yield f"node {node} is begun, and {listed(others)} is not done"


def not_done(now: Sight, node: str) -> Iterator[str]:
    """A Kubernetes node on which the new instance manager runs is not done again."""
    if now.is_done(node):
        yield f"node {node} is changed, and the instance manager of {now.image} runs there already"


def others_whole(now: Sight, seen: Sight, node: str, done: Collection[str], hit: Collection[str]) -> Iterator[str]:
    """The volumes of nodes that this run has done are whole, but for those that a foreign fault has taken."""
    for name, volume in now.volumes.items():
        before = seen.volumes.get(name, Volume())
        if volume.whole or before.whole or not any(volume.near(each) for each in done):
            continue
        if not taken(name, before, hit) and not taken(name, volume, hit):
            yield f"node {node} is begun, and volume {name} has copies on {listed(volume.copies) or 'no node'} alone"


def lent(seen: Sight, volume: str, node: str) -> Iterator[str]:
    """An engine goes to a Kubernetes node with a copy of its volume, and with an instance manager that runs."""
    if node not in seen.volumes.get(volume, Volume()).copies:
        yield f"the engine of volume {volume} is sent to node {node}, which has no copy of it"
    elif not seen.runs(node):
        yield f"the engine of volume {volume} is sent to node {node}, where no instance manager runs"


def keeps_copy(now: Sight, held: Mapping[str, Volume], hit: Collection[str]) -> Iterator[str]:
    """Each volume that serves has a copy to read and write. `held` are the volumes when they were last well."""
    for name, volume in now.volumes.items():
        if volume.attached and volume.serves and not volume.copies and not taken(name, held.get(name, volume), hit):
            yield f"volume {name} has no copy that can be read and written"


def serves(now: Sight, held: Mapping[str, Volume], hit: Collection[str], lost: Collection[str]) -> Iterator[str]:
    """Each attached volume has its frontend, and an engine behind it; `lost` are those that a consent covers."""
    for name, volume in now.volumes.items():
        was = held.get(name)
        if was is None or volume.serves or not volume.attached or name in lost or taken(name, was, hit):
            continue
        yield f"volume {name} is not served on node {was.workload} any more"


def taken(name: str, volume: Volume, hit: Collection[str]) -> bool:
    """Whether a foreign fault has taken a volume, or something of it."""
    return bool({name, volume.workload, *volume.engines, *volume.places} & {*hit})


def changes_in(text: str) -> dict[str, Any]:
    """The values that were before, by field, as an undo names them; None is an empty text, too. No text names none."""
    found = json.loads(text)["changes"] if text else []
    return {".".join(each["path"]): None if each["was"] == "" else each["was"] for each in found}


def named_by_undo(first: Mapping[Place, Any], now: Sight, own: Mapping[Place, Any]) -> Iterator[str]:
    """Each value that the runs have set, and that is still so, is as it was before, or named so by the undo."""
    for place, set_to in sorted(own.items()):
        present = now.values.get(place)
        if place not in now.values or present != set_to or present == first.get(place):
            continue
        plural, name, field = place
        named = changes_in(now.undos.get((plural, name), ""))
        if field not in named:
            yield f"{field} of {plural}/{name} is {present!r}, was {first.get(place)!r}, and no undo names it"
        elif named[field] != first.get(place):
            yield f"the undo names {named[field]!r} for {field} of {plural}/{name}, which was {first.get(place)!r}"


def all_put_back(first: Mapping[Place, Any], now: Sight) -> Iterator[str]:
    """After a whole upgrade everything is as before, and nothing carries a note of a run."""
    for place, was in sorted(first.items()):
        if place in now.values and now.values[place] != was:
            yield f"{place[2]} of {place[0]}/{place[1]} was {was!r} and is {now.values[place]!r}"
    for plural, name, note in sorted(now.notes):
        yield f"{plural}/{name} still has the annotation {note}"
    if now.upgrades:
        yield f"upgrades have not ended: {listed(now.upgrades)}"
    if now.holder:
        yield f"the lock is still held by {now.holder}"


def all_done(now: Sight, nodes: Collection[str], hit: Collection[str]) -> Iterator[str]:
    """The Kubernetes nodes of the upgrade run the new instance manager."""
    left = [each for each in nodes if not now.is_done(each) and each not in hit]
    if left:
        yield f"{listed(left)} does not run {now.image}"
