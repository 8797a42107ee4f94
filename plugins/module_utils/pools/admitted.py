"""The answer of admission to the pod that would come back, and the verdict on it. Pure.

A dry run goes through all of admission, and quotas look at it last (server source, plugins.go of the API server,
AllOrderedPlugins), so a refusal by a quota means that everything else admits the pod. The name is compared after that
(registry/generic/registry/store.go), so a pod whose name is taken has been admitted. Both were recorded from
kube-apiserver 1.36.

Only `AlreadyExists` says that the pod is admitted. Any other conflict counts as a refusal, since a webhook may answer
with that code. A first quota that is full hides the answer of a second one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ..common.verdict import Reason, as_verdict, refused, remark
from ..kubernetes.pod_usage import Amounts, quantity, usage_of
from ..kubernetes.state import Pod, StatefulSet
from .quota_needs import quota_words

_SUBJECT = re.compile(r'^pods? "[^"]*" is (?:forbidden|invalid): ', re.IGNORECASE)
_QUOTA = re.compile(
    r"exceeded quota: (?P<name>[^,]+), requested: (?P<new>.*), used: (?P<used>.*), limited: (?P<hard>.*)"
)
_NO_DRY_RUN = "does not support dry run"
_ENDED = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True)
class Offered:
    """A pod that was offered to admission, and the answer."""

    pool: StatefulSet
    member: str
    spec: Mapping[str, Any]
    """The spec of the pod that would come back."""
    old: Pod | None
    """The present pod, which is deleted before the new one is made."""
    said: str = ""
    """The sentence of the server that refuses it; empty if it is admitted."""
    denied: str = ""
    """The sentence that says why the user may not ask; empty if an answer came."""
    members: int = 1
    """The number of pods of the pool that are to come back like this one."""
    added: bool = False
    """Whether it is one more, in the place of no other."""
    freed: Amounts = field(default_factory=dict)
    """The amounts that count in quotas now, and no longer when the pod is made."""


@as_verdict
def judge_offered(offered: Offered) -> Iterator[Reason]:
    """Whether admission lets the pod come back."""
    pool, member = offered.pool, offered.member
    if offered.denied:
        yield _unknown(offered, offered.denied.rstrip("."))
        return
    said = " ".join(_SUBJECT.sub("", offered.said).split()).rstrip(".")
    if not said or _fits_without_old(offered):
        return
    if _NO_DRY_RUN in said:
        yield _unknown(offered, said)
        return
    if offered.added and (quota := full_quota(said)):
        yield refused(
            "quota_full",
            f"{quota_words(quota)} {pool.namespace} has no room for the pod of the extra member {member}: {said}.",
            "Raise it, or leave out upgrade_extra_member.",
        )
    elif offered.added:
        yield refused(
            "extra_member_not_admitted",
            f"StatefulSet {pool.name} cannot make the extra member {member}, because namespace {pool.namespace} does"
            f" not admit its pod: {said}.",
            "Change what it names so that the pod is admitted, such as the ResourceQuota, the LimitRange or the policy;"
            " or leave out upgrade_extra_member. Then run again.",
        )
    else:
        yield _not_again(offered, said)


def _not_again(offered: Offered, said: str) -> Reason:
    pool, member = offered.pool, offered.member
    return refused(
        "member_not_admitted",
        f"If pod {member} is deleted, StatefulSet {pool.name} cannot make it again, because namespace"
        f" {pool.namespace} does not admit it: {said}.",
        f"Change what it names, or the pod template of StatefulSet {pool.name}, so that the pod is admitted: the level"
        " of Pod Security, the PriorityClass, the ServiceAccount, the LimitRange, the ResourceQuota or the policy."
        " Then run again.",
    )


def _unknown(offered: Offered, why: str) -> Reason:
    return remark(
        "member_admission_unknown",
        f"It is not known whether namespace {offered.pool.namespace} admits the pods of StatefulSet"
        f" {offered.pool.name} when they come back: {why}.",
        "Check that Pod Security, PriorityClasses, limits, quotas and webhooks admit them.",
    )


def full_quota(said: str) -> str:
    """The name of the ResourceQuota that a sentence of the server calls full; empty if it calls none."""
    found = _QUOTA.search(said)
    return found["name"] if found is not None else ""


def _fits_without_old(offered: Offered) -> bool:
    """Whether a quota refuses the pod only because others still count: the present pod, or throw-away ones

    A quota may count only the pods of one priority. If the new pod has another priority than the old one, it is not
    known whether the old pod counts in that quota.
    """
    found, old = _QUOTA.search(offered.said), offered.old
    if found is None:
        return False
    new, used, hard = (_amounts(found[name]) for name in ("new", "used", "hard"))
    if new is None or used is None or hard is None or not new.keys() == used.keys() == hard.keys():
        return False
    if offered.added:
        return all(used[name] + new[name] - offered.freed.get(name, Decimal(0)) <= hard[name] for name in new)
    if old is None or old.phase in _ENDED:
        return False
    if (offered.spec.get("priorityClassName") or old.spec.get("priorityClassName")) != old.spec.get(
        "priorityClassName"
    ):
        return False
    there = usage_of(old.spec)
    return all(used[name] + offered.members * (new[name] - there.get(name, Decimal(0))) <= hard[name] for name in new)


def _amounts(text: str) -> Mapping[str, Decimal] | None:
    """The amounts in a sentence about a quota, such as `limits.cpu=1,pods=3`; None if they cannot be read."""
    found = {}
    for each in text.split(","):
        name, of, written = each.rpartition("=")
        amount = quantity(written)
        if not of or amount is None:
            return None
        found[name.strip()] = amount
    return found
