"""ResourceQuotas in whole runs: a plan names one that has no room for what the run adds, before anything is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.extra_members import DATA, EXTRA, MANAGERS, TO, FourMembers
from tests.runs.world import World, world
from tests.sandbox.kubernetes.kinds import STATEFUL_SETS
from tests.sandbox.kubernetes.objects import Json
from tests.scenarios.playbook import PLAN, PLAYBOOK

QUOTAS = "resourcequotas"
MORE: dict[str, Any] = {"upgrade_extra_member": DATA}
LARGER: dict[str, Any] = {"upgrade_volumes": [{"pool": MANAGERS, "claim": "data", "size": "2Gi"}]}


@pytest.fixture(scope="module")
def here() -> Iterator[World]:
    """One world for all tests of this module, each with a cluster of its own."""
    with world() as made:
        made.storage_class()
        yield made


def is_refused(four: FourMembers, said: str, **more: Any) -> str:
    """Fails unless the plan is refused with this, and nothing is changed; gives what it says."""
    before = four.cluster.fingerprint()
    planned = four.here.play(PLAN, four.cluster.variables(TO, **more))
    assert planned.code != 0, planned.output
    assert said in planned.message, planned.output
    assert four.cluster.fingerprint() == before
    four.has_no_trace()
    return planned.message


def is_done(four: FourMembers, *said: str, **more: Any) -> str:
    """Fails unless an upgrade is done, and says this; gives its output."""
    done = four.here.play(PLAYBOOK, four.here.confirmed(four.cluster.variables(TO, **more)))
    assert done.code == 0, done.output
    for each in said:
        assert each in done.output
    four.cluster.is_upgraded(TO)
    four.has_no_trace()
    return done.output


def test_a_quota_that_is_full_with_the_extra_member_lets_the_upgrade_through(here: World) -> None:
    four = FourMembers(here)
    # Throw-away pods that prove the image would need more.
    four.quota(pods="5", persistentvolumeclaims="5", requests__storage="5Gi", requests__cpu="500m")
    output = is_done(four, f"one member of pool {DATA} added", **MORE, upgrade_skip_checks=["images"])
    assert "ResourceQuota" not in output
    assert four.used() == {
        "pods": "4",
        "persistentvolumeclaims": "4",
        "requests.storage": "4Gi",
        "requests.cpu": "400m",
    }


@pytest.mark.parametrize("without", ["", QUOTAS])
def test_no_room_for_the_pod_of_the_extra_member_refuses_the_plan(here: World, without: str) -> None:
    four = FourMembers(here, without=without)
    four.quota(pods="8", requests__cpu="450m")
    said = is_refused(four, f"ResourceQuota tight of namespace {four.namespace} has no room for", **MORE)
    assert EXTRA in said
    if without:
        assert "requested: requests.cpu=100m, used: requests.cpu=40" in said
        assert "Raise it, or leave out upgrade_extra_member" in said
    else:
        assert "of 450m used, 100m more needed" in said
        assert "Raise it to at least requests.cpu=50" in said


def test_no_room_for_the_claims_of_the_extra_member_refuses_the_plan_with_all_that_is_short(here: World) -> None:
    four = FourMembers(here)
    four.quota(pods="9", persistentvolumeclaims="4", requests__storage="4Gi")
    said = is_refused(four, f"has no room for the volume claim data-{EXTRA} of the extra member", **MORE)
    assert "persistentvolumeclaims: 4 of 4 used, 1 more needed; requests.storage: 4Gi of 4Gi used, 1Gi more" in said
    assert "Raise it to at least persistentvolumeclaims=5, requests.storage=5Gi, or leave out upgrade_extra" in said


def test_a_run_that_can_do_without_the_member_says_so_and_goes_on(here: World) -> None:
    four = FourMembers(here)
    four.quota(pods="4")
    more: dict[str, Any] = {**MORE, "upgrade_capacity_policy": "continue", "upgrade_skip_checks": ["images"]}
    planned = here.play(PLAN, four.cluster.variables(TO, **more))
    assert planned.code == 0, planned.output
    assert "pods: 4 of 4 used, 1 more needed" in planned.output
    assert "The upgrade continues without it (upgrade_capacity_policy)" in planned.output
    is_done(four, "additional capacity", **more)


def test_a_user_who_may_not_see_quotas_reads_that_in_the_plan_and_the_run_meets_them(here: World) -> None:
    four = FourMembers(here, without=QUOTAS)
    four.quota(pods="9", persistentvolumeclaims="4")
    given = four.cluster.variables(TO, **MORE, upgrade_steps=[{"name": "capacity", "timeout": 20}])
    planned = here.play(PLAN, given)
    assert planned.code == 0, planned.output
    assert "It is not known whether the ResourceQuotas of namespace" in planned.output
    assert 'resources: ["resourcequotas"], verbs: ["list"]' in planned.output
    stopped = here.play(PLAYBOOK, here.confirmed(given))
    assert stopped.code != 0
    assert "exceeded quota: tight, requested: persistentvolumeclaims=1" in stopped.output
    four.has_no_trace()
    four.quota(pods="9", persistentvolumeclaims="5")
    is_done(four, **MORE)


def test_larger_claims_that_fit_alone_and_not_together_refuse_the_plan(here: World) -> None:
    four = FourMembers(here)
    four.quota(pods="9", requests__storage="6Gi")
    said = is_refused(four, f"has no room for 2Gi for the volume claims data of pool {MANAGERS}", **LARGER)
    assert "requests.storage: 4Gi of 6Gi used, 3Gi more needed" in said
    assert "Raise it to at least requests.storage=7Gi, or give smaller sizes in volumes (upgrade_volumes)." in said
    four.quota(pods="9", requests__storage="4Gi")
    said = is_refused(four, "requests.storage: 4Gi of 4Gi used, 3Gi more needed", **LARGER)
    assert "exceeded quota" not in said, "the quota is named once"
    four.quota(pods="9", requests__storage="7Gi")
    said = is_refused(four, "requests.storage: 4Gi of 7Gi used, 4Gi more needed", **LARGER, **MORE)
    assert "leave out upgrade_extra_member" in said
    is_done(four, **LARGER)


def test_larger_claims_of_a_user_who_may_not_see_quotas_are_a_note(here: World) -> None:
    four = FourMembers(here, without=QUOTAS)
    planned = here.play(PLAN, four.cluster.variables(TO, **LARGER))
    assert planned.code == 0, planned.output
    assert f"have room for 2Gi for the volume claims data of pool {MANAGERS}: " in planned.output


def test_a_template_that_asks_for_more_has_to_fit_for_all_members(here: World) -> None:
    four = FourMembers(here)

    def asks_for_more(item: Json) -> None:
        item["spec"]["updateStrategy"] = {"type": "OnDelete"}
        item["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "200m"

    here.sandbox.api.resources.change(STATEFUL_SETS, four.namespace, MANAGERS, asks_for_more)
    four.quota(pods="9", requests__cpu="600m")
    said = is_refused(four, f"has no room for the changed pod template of StatefulSet {MANAGERS}")
    assert "300m more needed" in said
    four.quota(pods="9", requests__cpu="710m")
    is_done(four)
