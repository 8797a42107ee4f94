"""Looking at volume claims that are to grow, and raising them, each guarded by what was seen of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ..common.attempts import until_unchanged
from ..common.errors import Conflict, Denied, refusal
from ..common.task import Task
from ..common.verdict import Reason, Verdict, combine, refused
from ..kubernetes.answers import NotAdmitted
from ..kubernetes.claims import VolumeClaim, claim_path, expands, list_claims, volume_claim
from ..kubernetes.client import Json, KubernetesClient
from ..kubernetes.stateful_sets import path_of, stateful_set
from ..run.undo.temporary_changes import ATTEMPTS
from .admitted import full_quota
from .kept_sets import kept_sets
from .quota_needs import names_quota, needs_of_growth
from .quota_room import judge_room
from .remaking import judge_remade
from .volume_sizes import GrowingPool, VolumesLook, WantedSize, judge_volumes

RAISED = "raised_claim"


def look_at_volumes(client: KubernetesClient, namespace: str, wanted: Sequence[WantedSize]) -> VolumesLook:
    """The pools of which claims are to grow, with these claims and their StorageClasses.

    Raises:
        Refusal: the API gives no usable answer.
    """
    pools, unknown = list[GrowingPool](), list[WantedSize]()
    for name in dict.fromkeys(each.pool for each in wanted):
        own = tuple(each for each in wanted if each.pool == name)
        found = client.get(path_of(namespace, name)) or _to_be_made(client, namespace, name)
        if found is None:
            unknown += own
            continue
        pool = stateful_set(dict(found))
        there = GrowingPool(pool, found, own, {}, {})
        claims = list_claims(client, namespace, [each for one in own for each in there.names(one)])
        classes = {each.storage_class for each in claims.values() if each.storage_class}
        pools.append(GrowingPool(pool, found, own, claims, {each: expands(client, each) for each in sorted(classes)}))
    return VolumesLook(tuple(pools), tuple(unknown))


def _to_be_made(client: KubernetesClient, namespace: str, name: str) -> Mapping[str, Any] | None:
    """A set that a killed run has deleted, as it was."""
    return next((each.found for each in kept_sets(client, namespace) if each.name == name), None)


def judge_growing(client: KubernetesClient, namespace: str, look: VolumesLook) -> Verdict:
    """The verdict of the rules, and then of the server: each change is offered to it in a dry run.

    Raises:
        Unreachable: no answer came.
    """
    found = judge_volumes(look)
    if not found.passed:
        return found
    to_raise = [each for pool in look.pools for each in pool.to_raise()]
    room = judge_room(client, namespace, [*needs_of_growth(to_raise)])
    # A quota that has no room for all of them is named once.
    raised = [_offered(client, namespace, *each, room) for each in to_raise]
    behind = [each for each in look.pools if each.is_behind() and client.get(path_of(namespace, each.pool.name))]
    return combine((found, room, *raised, *(judge_remade(client, each) for each in behind)))


def _offered(
    client: KubernetesClient, namespace: str, claim: VolumeClaim, wanted: WantedSize, room: Verdict
) -> Verdict:
    try:
        client.patch(claim_path(namespace, claim.name), _body(claim, wanted), "merge", dry_run=True)
    except Conflict:
        # Its status has changed since; the change itself is made from a new look.
        return Verdict()
    except (NotAdmitted, Denied) as error:
        if isinstance(error, NotAdmitted) and names_quota(room, full_quota(error.said)):
            return Verdict()
        return Verdict((_not_admitted(claim, wanted, error),))
    return Verdict()


def _not_admitted(claim: VolumeClaim, wanted: WantedSize, error: NotAdmitted | Denied) -> Reason:
    reason = error.verdict.reasons[0]
    if isinstance(error, Denied):
        return reason
    return refused(
        "volume_not_admitted",
        f"The API server does not let volume claim {claim.name} grow from {claim.written} to {wanted.size}:"
        f" {error.said}.",
        "Change what it names (the StorageClass, the ResourceQuota, the policy), or give another size in volumes"
        " (upgrade_volumes).",
    )


def _body(claim: VolumeClaim, wanted: WantedSize) -> Json:
    metadata = {"uid": claim.uid, "resourceVersion": claim.resource_version}
    return {"metadata": metadata, "spec": {"resources": {"requests": {"storage": wanted.size}}}}


def raise_claims(task: Task, client: KubernetesClient, namespace: str, look: VolumesLook) -> None:
    """Have each claim ask for its new size.

    Raises:
        Refusal: the server refuses it, or another claim has its name.
    """
    for pool in look.pools:
        for claim, wanted in pool.to_raise():
            task.ask(partial(until_unchanged, partial(_raise, task, client, namespace, claim, wanted), ATTEMPTS))


def _raise(task: Task, client: KubernetesClient, namespace: str, seen: VolumeClaim, wanted: WantedSize) -> None:
    path = claim_path(namespace, seen.name)
    found = client.get(path)
    claim = volume_claim(found) if found is not None else None
    if claim is None or claim.uid != seen.uid:
        said = f"Volume claim {seen.name} is not the one that was planned for: it was deleted in the meantime."
        raise refusal("volume_not_bound", said, "Find out who has deleted it, and run again.")
    if claim.requested >= wanted.bytes:
        return
    if not task.check_mode:
        task.still_wanted()
    with task.journal.doing((RAISED, claim.name, {"before": claim.written, "size": wanted.size})):
        client.patch(path, _body(claim, wanted), "merge", dry_run=task.check_mode)


def claims_now(client: KubernetesClient, namespace: str, names: Iterable[str]) -> list[VolumeClaim]:
    """Those of these claims that are there.

    Raises:
        Refusal: the API gives no usable answer.
    """
    return list(list_claims(client, namespace, [*names]).values())
