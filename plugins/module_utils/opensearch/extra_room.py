"""Whether the namespace has room for one member more: admission, and the ResourceQuotas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from ..common.task import Task
from ..common.verdict import State, Verdict, combine, remark
from ..kubernetes.claims import claim_path, volume_claim
from ..kubernetes.client import KubernetesClient
from ..kubernetes.state import StatefulSet
from ..kubernetes.stateful_sets import path_of
from ..pools.admission import offered
from ..pools.admitted import full_quota, judge_offered
from ..pools.growing import look_at_volumes
from ..pools.quota_needs import (
    QuotaNeed,
    bytes_of,
    names_quota,
    need_of_member,
    needs_of_growth,
    needs_of_its_claims,
)
from ..pools.quota_room import await_room, judge_room, thrown_away
from ..pools.size import next_member
from ..pools.volume_sizes import WantedSize, templates_of, wanted_sizes

CAPACITY_POLICY = {"capacity_policy": {"type": "str", "choices": ["stop", "continue"], "default": "stop"}}
"""The option that says what becomes of a run without its additional capacity."""


def judge_extra_room(task: Task, client: KubernetesClient, pool: StatefulSet) -> Verdict:
    """Whether the pod of the extra member and its claims are admitted, after the claims that the run makes larger.

    Raises:
        Refusal: the API gives no usable answer.
    """
    wanted = wanted_sizes(task.params["volumes"])
    return await_room(task, lambda: _judge_room(client, pool, wanted))


def _judge_room(client: KubernetesClient, pool: StatefulSet, wanted: tuple[WantedSize, ...]) -> Verdict:
    member = next_member(pool)
    offer = offered(client, pool, member, None, added=True)
    if full_quota(offer.said):
        offer = replace(offer, freed=thrown_away(client, pool.namespace))
    templates = list(_templates(client, pool, wanted))
    needs: list[QuotaNeed] = [
        need_of_member(pool, member, offer.spec),
        *needs_of_its_claims(pool, member, templates),
        *(_growth(client, pool.namespace, wanted) if wanted else ()),
    ]
    room, admitted = judge_room(client, pool.namespace, needs), judge_offered(offer)
    return room if names_quota(room, full_quota(offer.said)) else combine((room, admitted))


def _templates(
    client: KubernetesClient, pool: StatefulSet, wanted: tuple[WantedSize, ...]
) -> Iterator[tuple[str, Decimal, str]]:
    """Name, bytes and StorageClass of each claim of the member. The default class is that of its neighbour's claim."""
    found = client.get(path_of(pool.namespace, pool.name))
    for template in templates_of(found) if found else ():
        name, spec = template["metadata"]["name"], template["spec"]
        given = spec.get("storageClassName")
        there = client.get(claim_path(pool.namespace, f"{name}-{pool.member_names()[-1]}")) if given is None else None
        larger = [each.bytes for each in wanted if (each.pool, each.claim) == (pool.name, name)]
        yield (
            name,
            bytes_of(spec, max(larger, default=Decimal(0))),
            given or (volume_claim(there).storage_class if there else ""),
        )


def _growth(client: KubernetesClient, namespace: str, wanted: tuple[WantedSize, ...]) -> Iterator[QuotaNeed]:
    look = look_at_volumes(client, namespace, wanted)
    yield from needs_of_growth(each for pool in look.pools for each in pool.to_raise())


def as_optional(verdict: Verdict) -> Verdict:
    """The verdict on a member without which the run continues: what would refuse it is a remark."""
    without = "The upgrade continues without it (upgrade_capacity_policy)."
    return Verdict(
        tuple(
            remark(each.code, f"{each.message} {without}", each.remedy) if each.state is State.REFUSED else each
            for each in verdict.reasons
        )
    )
