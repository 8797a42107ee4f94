"""The volume claims that a run makes larger, in its plan: whether they can be, and what grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..common.task import Task
from ..common.verdict import Verdict
from ..common.words import counted
from ..kubernetes.client import connect
from ..kubernetes.rights import missing_rights
from ..pools.growing import judge_growing, look_at_volumes
from ..pools.volume_sizes import VolumesLook, WantedSize, wanted_sizes
from .rights import VOLUMES

GROWS = "grows"
"""The part of a plan with the claims that its run makes larger."""


@dataclass(frozen=True)
class PlannedVolumes:
    """The claims that a run makes larger, in its plan."""

    verdict: Verdict = field(default_factory=Verdict)
    result: tuple[Mapping[str, Any], ...] = ()
    """Plain data: one entry for each claim template."""
    gains: Mapping[str, int] = field(default_factory=dict)
    """The bytes by which the file systems of each member are to grow."""


def plan_volumes(task: Task, *, before_batches: bool) -> PlannedVolumes:
    """The claims that the user wants larger. Nothing is asked for where there are none, or no batch is left.

    Raises:
        Refusal: the option cannot be understood, or the API gives no answer.
    """
    wanted = wanted_sizes(task.params["volumes"])
    if not wanted or not before_batches:
        return PlannedVolumes(result=tuple(_entry(each, (), ()) for each in wanted))
    client, namespace = connect(task.params["kubernetes"]), task.params["namespace"]
    rights = task.ask(lambda: missing_rights(client, namespace, VOLUMES, seen=True))
    if not rights.passed:
        return PlannedVolumes(rights, tuple(_entry(each, (), ()) for each in wanted))
    look = task.ask(lambda: look_at_volumes(client, namespace, wanted))
    verdict = task.ask(lambda: judge_growing(client, namespace, look))
    return PlannedVolumes(verdict, tuple(_entries(look, wanted)), look.gains())


def _entries(look: VolumesLook, wanted: Iterable[WantedSize]) -> Iterator[Mapping[str, Any]]:
    pools = {each.pool.name: each for each in look.pools}
    for each in wanted:
        pool = pools.get(each.pool)
        raised = [claim.name for claim, size in pool.to_raise() if size == each] if pool else []
        yield _entry(each, pool.names(each) if pool else (), raised)


def _entry(wanted: WantedSize, claims: Iterable[str], raised: Iterable[str]) -> Mapping[str, Any]:
    named = {"pool": wanted.pool, "claim": wanted.claim, "size": wanted.size}
    return {**named, "claims": [*claims], "raised": [*raised]}


def conditions_of(given: Iterable[Mapping[str, Any]] | None) -> list[str]:
    """The words for the sizes that consent covers. They stay the same while the claims grow."""
    return [f"claims {each.claim} of {each.pool} {each.size}" for each in wanted_sizes(given)]


def volume_words(grows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What stays of a run, in words, for each claim template that has claims to raise."""
    for each in grows:
        if each["raised"]:
            count = counted(len(each["raised"]), "volume claim")
            yield f"{each['size']} for {count} {each['claim']} of pool {each['pool']} (Kubernetes makes none smaller)"
