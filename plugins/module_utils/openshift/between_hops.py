"""The chain of upgrades as it is planned and started, and the gate between two of its upgrades."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ..common.release import Release, release_in
from ..common.task import Task
from ..common.verdict import State, Verdict, combine
from ..draining.observe.optional import asked
from ..kubernetes.client import KubernetesClient
from .judge.left_out import left_out
from .judge.legs import judge_left_behind, legs_of
from .judge.removals import judge_removed
from .observe.looking_at_target import LookingAtTarget
from .observe.minors import minors_between
from .observe.removed_apis import removed_apis
from .observe.state import OpenShift
from .observe.target import UpgradeTarget
from .preflight import judge_update

UPGRADEABLE, ACKNOWLEDGEMENT = "not_upgradeable", "acknowledgement_missing"
"""Codes of reasons that pass once operators and kubelets are of the version before, or a person has done something."""


def judge_chain(
    client: KubernetesClient,
    seen: OpenShift,
    hops: Sequence[UpgradeTarget],
    through: Collection[Release],
    without: Collection[str],
) -> Verdict:
    """Whether the cluster may go the rest of its chain; `hops` are the upgrades that are left.

    A cluster that is already at a version on the way is not refused because of kubelets that are behind if these go
    first, nor because of operators that have just been updated.

    Raises:
        Refusal: something that is needed cannot be had or understood.
    """
    # A user who names no versions on the way asks for a single upgrade.
    left_behind = judge_left_behind(seen, [each.release for each in hops] if through else [])
    if release_in(seen.version.present) not in through:
        return combine((judge_update(client, seen, hops, without), left_behind))
    if legs_of(seen, hops[-1].release, [*through])[0].of_workers:
        known = {name: said for name, said in seen.version.conditions.items() if name != "Upgradeable"}
        seen = replace(seen, version=replace(seen.version, conditions=known))
    return combine((_patient(judge_update(client, seen, hops, without), (UPGRADEABLE,)), left_behind))


def judge_next(task: Task, client: KubernetesClient, seen: OpenShift, at_target: LookingAtTarget) -> Verdict:
    """The gate before an upgrade of a chain: whether OpenShift may go on to that version from the one before it.

    Raises:
        Refusal: something that is needed cannot be had or understood.
    """
    verdict = judge_update(client, seen, at_target.hops(seen), left_out(task.params))
    return _patient(verdict, (UPGRADEABLE, ACKNOWLEDGEMENT))


def report_removals(task: Task, client: KubernetesClient, seen: OpenShift, target: Release) -> Verdict:
    """A remark for each API in use that the next version of a chain has no more, which is also reported at once.

    Raises:
        Refusal: they cannot be had for another cause than a missing right, or not be understood.
    """
    present = release_in(seen.version.present)
    if present is None or seen.version.is_commenced(str(target)) or minors_between(present, target) < 1:
        return Verdict()
    named = "the APIs in use that the target no longer has"
    apis, remarks = task.ask(lambda: asked(lambda: removed_apis(client), named))
    found = combine((judge_removed(apis or (), present, target), Verdict(remarks)))
    for each in found.reasons:
        task.progress(each.sentence())
    return found


def _patient(verdict: Verdict, codes: Collection[str]) -> Verdict:
    """The verdict, in which refusals with these codes wait."""
    return Verdict(
        tuple(
            replace(each, state=State.WAITING) if each.state is State.REFUSED and each.code in codes else each
            for each in verdict.reasons
        )
    )
