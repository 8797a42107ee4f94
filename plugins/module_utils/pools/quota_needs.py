"""The amounts that a run needs in addition to those of today, and whether the ResourceQuotas have them. Pure.

Admission compares each object by itself, when it is made. A plan has to know before that whether all of them fit, since
a run that stops in between leaves claims that Kubernetes makes no smaller. Quotas with scopes count only some pods, and
are left to admission.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ..common.verdict import Reason, Verdict, as_verdict, refused, remark
from ..common.words import enumerate_few, unique
from ..kubernetes.claims import VolumeClaim
from ..kubernetes.pod_usage import Amounts, quantity, usage_of, written
from ..kubernetes.quotas import ResourceQuota
from ..kubernetes.state import Pod, StatefulSet
from .volume_sizes import WantedSize

FULL = "quota_full"
_CLAIMS, _STORAGE = "persistentvolumeclaims", "requests.storage"
_OF_CLASS = "storageclass.storage.k8s.io"


@dataclass(frozen=True)
class QuotaNeed:
    """What one thing needs that a run does."""

    thing: str
    """The thing, in words."""
    remedy: str
    """What a person may do so that it is not needed."""
    amounts: Amounts
    """By the names that a quota has for them."""
    offered: bool = False
    """Whether it is offered to admission by itself, so that quotas are only asked about it together with others."""


def need_of_member(pool: StatefulSet, member: str, spec: Mapping[str, Any]) -> QuotaNeed:
    """That of the pod of a member that is added."""
    return QuotaNeed(f"the extra member {member} of pool {pool.name}", _WITHOUT_MEMBER, usage_of(spec), offered=True)


def needs_of_its_claims(
    pool: StatefulSet, member: str, templates: Iterable[tuple[str, Decimal, str]]
) -> Iterator[QuotaNeed]:
    """Those of its volume claims; `templates` have the name, the bytes and the StorageClass of each."""
    for claim, size, storage_class in templates:
        amounts = {**_of_class(Decimal(1), _CLAIMS, storage_class), f"count/{_CLAIMS}": Decimal(1)}
        amounts |= _of_class(size, _STORAGE, storage_class)
        yield QuotaNeed(f"the volume claim {claim}-{member} of the extra member", _WITHOUT_MEMBER, amounts)


_WITHOUT_MEMBER = "leave out upgrade_extra_member"


def needs_of_growth(raised: Iterable[tuple[VolumeClaim, WantedSize]]) -> Iterator[QuotaNeed]:
    """Those of claims that are made larger."""
    for claim, wanted in raised:
        thing = f"{wanted.size} for the volume claims {wanted.claim} of pool {wanted.pool}"
        more = _of_class(wanted.bytes - claim.requested, _STORAGE, claim.storage_class)
        yield QuotaNeed(thing, "give smaller sizes in volumes (upgrade_volumes)", more, offered=True)


def needs_of_template(pool: StatefulSet, pods: Iterable[Pod]) -> Iterator[QuotaNeed]:
    """That of a pool whose pods, when they are made again, ask for more than the present ones.

    It is the sum over all of them, since the last one needs room after all others have grown. Defaults that a
    LimitRange fills in are not in a template, so they are left to admission.
    """
    new, more = usage_of(pool.template), dict[str, Decimal]()
    for pod in pods:
        there = usage_of(pod.spec)
        for name, amount in new.items():
            more[name] = more.get(name, Decimal(0)) + max(Decimal(0), amount - there.get(name, Decimal(0)))
    if any(more.values()):
        thing = f"the changed pod template of StatefulSet {pool.name}"
        yield QuotaNeed(thing, "have the pod template ask for less", more)


@as_verdict
def judge_quotas(
    namespace: str, quotas: Sequence[ResourceQuota], needs: Sequence[QuotaNeed], freed: Amounts
) -> Iterator[Reason]:
    """Whether each quota has room for all needs together. `freed` are amounts that count now and will not then."""
    for quota in () if not needs else quotas:
        full = dict(_full(quota, needs, freed))
        if not full:
            continue
        causes = [each for each in needs if any(each.amounts.get(name) for name in full)]
        room = "; ".join(
            f"{name}: {written(quota.used.get(name, Decimal(0)))} of {written(quota.hard[name])} used,"
            f" {written(more)} more needed"
            for name, more in full.items()
        )
        least = ", ".join(f"{name}={written(quota.used.get(name, Decimal(0)) + more)}" for name, more in full.items())
        yield refused(
            FULL,
            f"{quota_words(quota.name)} {namespace} has no room for"
            f" {enumerate_few(each.thing for each in causes)} ({room}).",
            f"Raise it to at least {least}, or {' or '.join(unique(each.remedy for each in causes))}.",
        )


def names_quota(room: Verdict, quota: str) -> bool:
    """Whether a verdict calls this quota full."""
    return bool(quota) and any(each.code == FULL and quota_words(quota) in each.message for each in room.deciding())


def quota_words(quota: str) -> str:
    """A quota in sentences."""
    return f"ResourceQuota {quota} of namespace"


def _full(quota: ResourceQuota, needs: Iterable[QuotaNeed], freed: Amounts) -> Iterator[tuple[str, Decimal]]:
    """The resources of a quota that have no room, with the amount that is needed."""
    needs = [*needs]
    for name, hard in () if quota.scoped else sorted(quota.hard.items()):
        more = sum((each.amounts.get(name, Decimal(0)) for each in needs), Decimal(0))
        used = quota.used.get(name, Decimal(0)) - freed.get(name, Decimal(0))
        # A resource that is not counted yet has no room that is known.
        if more and (name not in quota.used or used + more > hard):
            yield name, more


def unknown_quotas(namespace: str, needs: Sequence[QuotaNeed], denied: Reason) -> Verdict:
    """The remark that quotas may not be read, if something is needed that is not offered to admission as a whole."""
    if not needs or (len(needs) == 1 and needs[0].offered):
        return Verdict()
    said = f"It is not known whether the ResourceQuotas of namespace {namespace}, if there are any, have room for"
    things = enumerate_few(each.thing for each in needs)
    return Verdict((remark("quota_unknown", f"{said} {things}: {denied.message}", denied.remedy),))


def _of_class(amount: Decimal, name: str, storage_class: str) -> dict[str, Decimal]:
    """An amount by the names that quotas have for it, of all claims and of those of a StorageClass (Kubernetes
    documentation, Resource Quotas, Quota for storage)."""
    own = {f"{storage_class}.{_OF_CLASS}/{name}": amount} if storage_class else {}
    return {name: amount, **own}


def bytes_of(template: Mapping[str, Any], wanted: Decimal) -> Decimal:
    """The bytes that a claim of this template is to have, at least those that are wanted."""
    asked = quantity(((template.get("resources") or {}).get("requests") or {}).get("storage", "0"))
    return max(asked or Decimal(0), wanted)
