"""Larger volume claims: the rules before anything is changed, and those by which claims are followed."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.claims import VolumeClaim, volume_claim
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.stateful_sets import stateful_set
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.kept_sets import manifest_of
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.volume_sizes import (
    GrowingPool,
    VolumesLook,
    judge_followed,
    judge_volumes,
    wanted_sizes,
)

WANTED = [{"pool": "data", "claim": "disk", "size": "200Gi"}]


def pool(size: str = "100Gi", **own: Any) -> dict[str, Any]:
    """A StatefulSet of two members with a claim each."""
    claim = {"metadata": {"name": "disk"}, "spec": {"resources": {"requests": {"storage": size}}}, "status": {}}
    template = {"metadata": {"labels": {"app": "data"}}, "spec": {"containers": [{"name": "server", "image": "s:1"}]}}
    metadata = {"name": "data", "namespace": "here", "uid": "u", "resourceVersion": "1", "generation": 1}
    selector = {"matchLabels": {"app": "data"}}
    spec = {"replicas": 2, "selector": selector, "template": template, "volumeClaimTemplates": [claim]}
    return {
        "metadata": {**metadata, **own.pop("metadata", {})},
        "spec": {**spec, **own},
        "status": {"updateRevision": "data-1"},
    }


def claim(name: str, size: str = "100Gi", has: str = "", storage_class: str = "fast", **status: Any) -> VolumeClaim:
    """A claim that asks for a size, and has one."""
    return volume_claim(
        {
            "metadata": {"name": name, "uid": f"u-{name}", "resourceVersion": "1"},
            "spec": {"resources": {"requests": {"storage": size}}, "storageClassName": storage_class},
            "status": {"phase": "Bound", "capacity": {"storage": has or size}, **status},
        }
    )


def condition(name: str, message: str = "") -> dict[str, Any]:
    """A condition that is True."""
    return {"type": name, "status": "True", "lastTransitionTime": "2026-11-28T12:00:00Z", "message": message}


def judged(
    *claims: VolumeClaim, found: dict[str, Any] | None = None, wanted: Any = None, **expands: bool | None
) -> Verdict:
    """The verdict on a pool with these claims; by default both of them."""
    there = claims or (claim("disk-data-0"), claim("disk-data-1"))
    raw = found or pool()
    sizes = wanted_sizes(wanted or WANTED)
    growing = GrowingPool(stateful_set(raw), raw, sizes, {each.name: each for each in there}, {"fast": True, **expands})
    return judge_volumes(VolumesLook((growing,)))


def refusals(verdict: Verdict) -> list[str]:
    """The codes that refuse."""
    return [each.code for each in verdict.reasons if each.state is State.REFUSED]


def test_claims_of_a_class_that_may_grow_pass_and_the_manifest_is_named() -> None:
    verdict = judged()
    assert verdict.passed
    assert [each.code for each in verdict.reasons] == ["volume_manifest"]


def test_nothing_is_to_do_for_claims_of_that_size_and_only_the_set_for_a_template_behind() -> None:
    same = (claim("disk-data-0", "200Gi"), claim("disk-data-1", "200Gi"))
    assert judged(*same, found=pool("200Gi")).reasons == ()
    assert [each.code for each in judged(*same).reasons] == ["volume_manifest"]


@pytest.mark.parametrize(
    ("broken", "codes"),
    [
        ({"expands": {"fast": False}}, ["volume_class_fixed", "volume_class_fixed"]),
        ({"claims": (claim("disk-data-0", storage_class=""), claim("disk-data-1"))}, ["volume_class_fixed"]),
        ({"claims": (claim("disk-data-0"),)}, ["volume_not_bound"]),
        ({"claims": (claim("disk-data-0", phase="Pending"), claim("disk-data-1"))}, ["volume_not_bound"]),
        ({"claims": (claim("disk-data-0", "300Gi"), claim("disk-data-1"))}, ["volume_shrinks"]),
        ({"found": pool("300Gi")}, ["volume_shrinks"]),
        ({"wanted": [{"pool": "data", "claim": "logs", "size": "200Gi"}]}, ["volume_unknown"]),
        (
            {
                "claims": (
                    claim("disk-data-0", allocatedResourceStatuses={"storage": "ControllerResizeInfeasible"}),
                    claim("disk-data-1", allocatedResourceStatuses={"storage": "NodeResizeInfeasible"}),
                )
            },
            ["volume_resize_failed", "volume_resize_failed"],
        ),
        (
            {"found": pool(persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete"})},
            ["volume_claims_go_with_set"],
        ),
        (
            {
                "found": pool(
                    metadata={"ownerReferences": [{"kind": "Cluster", "name": "c", "apiVersion": "o/v1", "uid": "o"}]}
                )
            },
            ["volume_set_owned"],
        ),
    ],
)
def test_all_that_stands_in_the_way_is_refused(broken: dict[str, Any], codes: list[str]) -> None:
    expands = broken.pop("expands", {})
    verdict = judged(*broken.pop("claims", ()), **broken, **expands)
    assert refusals(verdict) == codes
    assert all(each.remedy for each in verdict.reasons if each.state is State.REFUSED)


def test_a_class_that_may_not_be_looked_at_is_left_to_the_server() -> None:
    assert judged(fast=None).passed


def test_a_failed_resize_is_told_with_the_words_of_the_driver() -> None:
    said = condition("ControllerResizeError", "no space left in pool ssd")
    failed = claim(
        "disk-data-0", allocatedResourceStatuses={"storage": "ControllerResizeInfeasible"}, conditions=[said]
    )
    (reason,) = [each for each in judged(failed, claim("disk-data-1")).reasons if each.state is State.REFUSED]
    assert "no space left in pool ssd" in reason.message


@pytest.mark.parametrize("size", ["much", "-1Gi", "0"])
def test_what_is_no_size_is_refused(size: str) -> None:
    with pytest.raises(Refusal) as refused:
        wanted_sizes([{"pool": "data", "claim": "disk", "size": size}])
    assert refused.value.verdict.reasons[0].code == "volume_size_not_valid"


def test_a_claim_that_is_named_twice_is_refused() -> None:
    with pytest.raises(Refusal) as refused:
        wanted_sizes([*WANTED, *WANTED])
    assert "named twice" in refused.value.verdict.reasons[0].message


GROWING = claim("disk-data-0", "200Gi", "100Gi", conditions=[condition("Resizing")])
PENDING = claim("disk-data-0", "200Gi", "100Gi", conditions=[condition("FileSystemResizePending")])


@pytest.mark.parametrize(
    ("seen", "restarted", "age", "state", "code"),
    [
        (claim("disk-data-0", "200Gi"), (), 0, State.PASSED, ""),
        (claim("disk-data-0", "200Gi", "100Gi"), (), 0, State.WAITING, "volume_growing"),
        (GROWING, ("disk-data-0",), 900, State.WAITING, "volume_growing"),
        (PENDING, ("disk-data-0",), 119, State.WAITING, "volume_file_system_pending"),
        (PENDING, (), 900, State.WAITING, "volume_file_system_pending"),
        (PENDING, ("disk-data-0",), 120, State.PASSED, "volume_grows_at_restart"),
        # The capacity may be there before the state is taken away.
        (
            claim("disk-data-0", "200Gi", allocatedResourceStatuses={"storage": "NodeResizeInProgress"}),
            (),
            0,
            State.WAITING,
            "volume_growing",
        ),
        (
            claim("disk-data-0", "200Gi", "100Gi", allocatedResourceStatuses={"storage": "NodeResizeInfeasible"}),
            ("disk-data-0",),
            900,
            State.REFUSED,
            "volume_resize_failed",
        ),
    ],
)
def test_a_claim_is_followed_until_its_file_system_has_grown(
    seen: VolumeClaim, restarted: tuple[str, ...], age: float, state: State, code: str
) -> None:
    verdict = judge_followed([seen], restarted, {seen.name: age})
    assert verdict.state is state
    assert [each.code for each in verdict.reasons] == ([code] if code else [])


def test_the_manifest_has_the_size_and_nothing_that_the_server_writes() -> None:
    found = pool(metadata={"annotations": {"note": "kept"}, "managedFields": []})
    manifest = manifest_of(found, wanted_sizes(WANTED))
    assert manifest["metadata"] == {"name": "data", "namespace": "here", "annotations": {"note": "kept"}}
    (template,) = manifest["spec"]["volumeClaimTemplates"]
    assert template == {"metadata": {"name": "disk"}, "spec": {"resources": {"requests": {"storage": "200Gi"}}}}
    assert {**manifest["spec"], "volumeClaimTemplates": ()} == {**found["spec"], "volumeClaimTemplates": ()}
    assert "status" not in manifest
    larger = manifest_of(pool("300Gi"), wanted_sizes(WANTED))
    assert larger["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] == "300Gi"


def test_the_gain_of_a_member_is_what_its_claims_grow_by() -> None:
    raw = pool()
    there = {"disk-data-0": claim("disk-data-0"), "disk-data-1": claim("disk-data-1", "200Gi", "150Gi")}
    look = VolumesLook((GrowingPool(stateful_set(raw), raw, wanted_sizes(WANTED), there, {}),))
    assert look.gains() == {"data-0": 100 * 1024**3, "data-1": 50 * 1024**3}
    assert look.members() == {"disk-data-0": "data-0", "disk-data-1": "data-1"}
