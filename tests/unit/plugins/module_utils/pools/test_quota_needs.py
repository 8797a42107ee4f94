"""What a run needs of ResourceQuotas, and whether they have it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NotUnderstood
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, refused
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pod_usage import quantity, written
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.quotas import ResourceQuota, list_quotas
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.quota_needs import QuotaNeed, judge_quotas
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.quota_room import FREED, FreedSoon

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.cluster import TOKENS, Kubernetes
from tests.sandbox.kubernetes.in_process import InProcess
from tests.sandbox.kubernetes.kinds import QUOTAS

POD = QuotaNeed("a pod", "leave it out", {"pods": Decimal(1), "requests.cpu": Decimal("0.1")})
CLAIM = QuotaNeed("a claim", "make it smaller", {"requests.storage": Decimal(2**30)})


def quota(used: dict[str, str], hard: dict[str, str], **own: Any) -> ResourceQuota:
    def read(amounts: dict[str, str]) -> dict[str, Decimal]:
        return {name: Decimal(quantity(each) or 0) for name, each in amounts.items()}

    return ResourceQuota("q", read(hard), read(used), **own)


def judged(one: ResourceQuota, *needs: QuotaNeed, freed: dict[str, Decimal] | None = None) -> Verdict:
    return judge_quotas("here", [one], needs, freed or {})


@pytest.mark.parametrize(
    ("used", "hard", "passes"),
    [
        ({"pods": "3"}, {"pods": "4"}, True),
        ({"pods": "4"}, {"pods": "4"}, False),
        ({"requests.cpu": "900m"}, {"requests.cpu": "1"}, True),
        ({"requests.cpu": "901m"}, {"requests.cpu": "1"}, False),
        ({"services": "9"}, {"services": "1"}, True),
        ({}, {"pods": "4"}, False),
    ],
)
def test_a_quota_has_room_for_exactly_what_is_left(used: dict[str, str], hard: dict[str, str], passes: bool) -> None:
    assert judged(quota(used, hard), POD).passed is passes
    assert judged(quota(used, hard)).passed, "nothing is needed"
    assert judged(quota(used, hard, scoped=True), POD).passed, "it is left to admission"


def test_all_that_is_short_is_named_with_what_would_do() -> None:
    one = quota({"pods": "4", "requests.storage": "3Gi"}, {"pods": "4", "requests.storage": "3584Mi"})
    (reason,) = judged(one, POD, CLAIM).reasons
    assert reason.message == (
        "ResourceQuota q of namespace here has no room for a claim, a pod (pods: 4 of 4 used, 1 more needed;"
        " requests.storage: 3Gi of 3584Mi used, 1Gi more needed)."
    )
    assert reason.remedy == "Raise it to at least pods=5, requests.storage=4Gi, or leave it out or make it smaller."
    (reason,) = judged(
        quota({"requests.storage": "3Gi", "pods": "3"}, {"requests.storage": "3Gi", "pods": "4"}), POD, CLAIM
    ).reasons
    assert "no room for a claim (" in reason.message


def test_pods_that_go_with_the_plan_make_room() -> None:
    one = quota({"pods": "4"}, {"pods": "4"})
    assert judged(one, POD, freed={"pods": Decimal(1)}).passed
    assert not judged(one, POD, freed={"requests.cpu": Decimal(1)}).passed


@pytest.mark.parametrize("said", ["0", "150m", "1", "3Gi", "1536Mi", "12", "500"])
def test_an_amount_is_written_as_it_was_read(said: str) -> None:
    assert written(Decimal(quantity(said) or 0)) == said


def test_a_full_quota_is_waited_for_only_so_long_and_nothing_else_is() -> None:
    clock = Clock()
    freed = FreedSoon(clock)
    full = Verdict(
        (refused("member_not_admitted", "exceeded quota: q, requested: pods=1, used: pods=4, limited: pods=4.", ""),)
    )
    other = Verdict((refused("member_not_admitted", "violates PodSecurity", ""),))
    assert freed.judge(other) == other
    assert freed.judge(full).state.value == "waiting"
    assert freed.judge(Verdict((*full.reasons, *other.reasons))).state.value == "refused"
    clock.advance(FREED + 1)
    assert freed.judge(full) == full
    assert freed.judge(Verdict()).passed


def quotas_of(status: dict[str, Any], **spec: Any) -> tuple[ResourceQuota, ...]:
    kubernetes = Kubernetes(Clock())
    client: KubernetesClient = InProcess(kubernetes.server, token=TOKENS["admin"]).client()
    kubernetes.server.resources.create(QUOTAS, "default", {"metadata": {"name": "q"}, "spec": spec})
    found = kubernetes.server.store.get(QUOTAS, "default", "q") or {}
    kubernetes.server.store.put(QUOTAS, {**found, "status": status})
    return list_quotas(client, "default")


def test_the_limits_that_hold_are_those_of_the_status() -> None:
    (one,) = quotas_of({"hard": {"pods": "4"}, "used": {"pods": "3"}}, hard={"pods": "9"})
    assert (one.name, one.hard, one.used, one.scoped) == ("q", {"pods": Decimal(4)}, {"pods": Decimal(3)}, False)
    (one,) = quotas_of({}, hard={"pods": "9"}, scopes=["BestEffort"])
    assert (one.hard, one.scoped) == ({}, True)
    with pytest.raises(NotUnderstood, match="ResourceQuota q"):
        quotas_of({"hard": {"pods": "many"}}, hard={"pods": "9"})
