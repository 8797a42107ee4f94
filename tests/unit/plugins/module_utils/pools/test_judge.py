"""Judging a pool."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import pod
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.stateful_sets import stateful_set
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.deployers import judge_deployer, judge_owner
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.judge import (
    judge_available,
    judge_controller,
    judge_members,
    judge_others,
    judge_revision,
    judge_strategy,
    pod_is_current,
    pool_of,
    unsettled,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import (
    member,
    pod_json,
    pool,
    pool_json,
)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, State.PASSED),
        ({"observedGeneration": 3}, State.PASSED),
        ({"observedGeneration": 1}, State.WAITING),
        ({"observedGeneration": None}, State.WAITING),
        ({"updateRevision": ""}, State.WAITING),
    ],
)
def test_a_revision_counts_once_the_controller_has_seen_the_template(changes: dict[str, Any], state: State) -> None:
    assert judge_revision(pool(**changes)).state is state


def test_a_set_just_created_has_no_status_and_its_pods_are_not_current() -> None:
    item = pool_json()
    del item["status"]
    created = stateful_set(item)
    assert judge_revision(created).state is State.WAITING
    assert not pod_is_current(created, member(revision=""))


def test_unsettled_names_missing_outdated_unready_and_terminating_pods() -> None:
    pods = {each.name: each for each in (member("data-0"), member("data-1", revision="data-old"))}
    assert unsettled(pool(), pods) == ("data-1", "data-2")
    pods["data-1"], pods["data-2"] = member("data-1", ready=False), member("data-2", terminating=True)
    assert unsettled(pool(), pods) == ("data-1", "data-2")
    pods["data-1"], pods["data-2"] = member("data-1"), member("data-2")
    assert unsettled(pool(), pods) == ()


@pytest.mark.parametrize(
    ("name", "ordinals", "ordinal"),
    [
        ("data-0", 0, 0),
        ("data-2", 0, 2),
        ("data-3", 0, None),
        ("data-02", 0, None),
        ("data--1", 0, None),
        ("data-x", 0, None),
        ("other-1", 0, None),
        ("data", 0, None),
        ("data-1", 2, None),
        ("data-4", 2, 4),
    ],
)
def test_ordinals(name: str, ordinals: int, ordinal: int | None) -> None:
    assert pool(ordinals={"start": ordinals}).ordinal(name) == ordinal


def test_members_that_the_pool_does_not_keep_are_named() -> None:
    assert judge_members([pool()], ["data-0", "data-2"]).passed
    verdict = judge_members([pool()], ["data-0", "data-7"])
    assert verdict.state is State.REFUSED
    assert "data-7" in verdict.reasons[0].message
    assert "data-0 to data-2" in verdict.reasons[0].message
    assert judge_members([pool(replicas=0)], ["data-0"]).state is State.REFUSED


@pytest.mark.parametrize(
    ("batch", "others", "waits"),
    [
        ({}, {}, False),
        ({}, {"ready": False}, True),
        ({}, {"terminating": True}, True),
        ({}, None, True),
        # A pod that is down already is brought back first, whatever else is down.
        ({"ready": False}, {"ready": False}, False),
        ({"terminating": True}, {"ready": False}, False),
    ],
)
def test_nothing_is_taken_down_while_another_pod_of_the_pool_is(
    batch: dict[str, Any], others: dict[str, Any] | None, waits: bool
) -> None:
    pods = {"data-0": member("data-0"), "data-2": member("data-2", **batch)}
    if others is not None:
        pods["data-1"] = member("data-1", **others)
    verdict = judge_others([pool()], pods, ["data-2"])
    assert verdict.state is (State.WAITING if waits else State.PASSED)
    if waits:
        assert "data-1" in verdict.reasons[0].message


ORDERED, ROLLING = {"podManagementPolicy": "OrderedReady"}, {"updateStrategy": {"type": "RollingUpdate"}}


@pytest.mark.parametrize(
    ("changes", "available", "late", "going", "waits"),
    [
        ({**ORDERED, "minReadySeconds": 300}, 1, "data-0", "data-2", True),
        ({**ORDERED, "minReadySeconds": 300}, 1, "data-0", "data-0", False),
        ({**ORDERED, "minReadySeconds": 300}, 1, "data-2", "data-1", False),
        ({**ORDERED, "minReadySeconds": 300}, 2, "data-0", "data-2", False),
        ({**ROLLING, "minReadySeconds": 300}, 1, "data-2", "data-0", True),
        ({**ROLLING, "minReadySeconds": 300}, 1, "data-0", "data-0", False),
        ({**ROLLING, "minReadySeconds": 300}, 1, "data-0", "data-2", False),
        ({**ROLLING, "minReadySeconds": 300}, 1, "data-2", "", False),
        ({"minReadySeconds": 300}, 1, "data-0", "data-2", False),
        (ORDERED, 0, "data-0", "data-2", False),
    ],
)
def test_a_controller_that_waits_until_pods_are_available_is_waited_for(
    changes: dict[str, Any], available: int, late: str, going: str, waits: bool
) -> None:
    """In order those above a pod that became Ready last wait for it; a partition goes down from the highest."""
    item = pool_json(**changes)
    item["status"]["availableReplicas"] = available
    items = {name: pod_json(name, ready=name != "data-1") for name in ("data-0", "data-1", "data-2")}
    for name, each in items.items():
        each["status"]["conditions"][0]["lastTransitionTime"] = f"2026-11-30T1{6 if name == late else 5}:00:00Z"
    pods = {name: pod(each) for name, each in items.items()}
    verdict = judge_available(stateful_set(item), pods, [going] if going else [])
    assert verdict.state is (State.WAITING if waits else State.PASSED)
    if waits:
        assert "Of the 2 Ready pods of StatefulSet data, 1 have been Ready for its minReadySeconds (300)." in str(
            verdict
        )


def test_members_of_several_pools_belong_to_the_one_that_keeps_a_pod_of_that_name() -> None:
    pools = [pool(), pool("data-1", replicas=1)]
    assert judge_members(pools, ["data-1", "data-1-0"]).passed
    assert [found.name for name in ("data-1", "data-1-0") if (found := pool_of(pools, name))] == ["data", "data-1"]
    assert pool_of(pools, "data-1-1") is None
    verdict = judge_members(pools, ["data-0", "data-1-1"])
    assert [reason.code for reason in verdict.deciding()] == ["member_unknown"]
    assert "a pod data-1-1 (their pods are data: data-0 to data-2; data-1: data-1-0 to data-1-0)" in (
        verdict.reasons[0].message
    )
    assert judge_members([], ["data-0"]).state is State.REFUSED


@pytest.mark.parametrize(
    ("down", "batch", "named"),
    [
        ([], ["data-0", "web-0"], []),
        (["data-0", "web-0"], ["data-0", "web-0"], []),
        (["web-2"], ["data-0", "web-0"], ["web"]),
        (["data-1", "web-2"], ["data-0", "web-0"], ["data", "web"]),
        # Part of the batch is down: for the part that is not, this is no fix.
        (["data-0", "data-1"], ["data-0", "web-0"], ["data"]),
        (["data-0", "data-1", "web-0"], ["data-0", "web-0"], []),
    ],
)
def test_nothing_of_any_pool_of_the_batch_is_down_outside_of_it(
    down: list[str], batch: list[str], named: list[str]
) -> None:
    pools = [pool(), pool("web")]
    pods = {name: member(name, ready=name not in down) for each in pools for name in each.member_names()}
    reasons = judge_others(pools, pods, batch).reasons
    assert [reason.message.split()[3] for reason in reasons] == named


def rolling(partition: int) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}


@pytest.mark.parametrize(
    ("strategy", "batch", "outdated", "code"),
    [
        ({"type": "OnDelete"}, ["data-2"], ["data-0", "data-1", "data-2"], None),
        (rolling(0), ["data-2"], ["data-0", "data-1", "data-2"], "strategy_rolls_by_itself"),
        (rolling(0), ["data-0"], ["data-0"], None),
        (rolling(2), ["data-2"], ["data-0", "data-1", "data-2"], None),
        (rolling(2), ["data-1"], ["data-0", "data-1", "data-2"], "strategy_keeps_old_revision"),
        (rolling(1), ["data-2"], ["data-0", "data-1", "data-2"], "strategy_rolls_by_itself"),
        (rolling(1), ["data-1", "data-2"], ["data-0", "data-1", "data-2"], None),
        ({"type": "RollingUpdate"}, ["data-2"], ["data-1", "data-2"], "strategy_rolls_by_itself"),
        ({}, ["data-2"], ["data-1", "data-2"], "strategy_rolls_by_itself"),
    ],
)
def test_a_deletion_must_bring_the_batch_and_nothing_else_onto_the_new_revision(
    strategy: dict[str, Any], batch: list[str], outdated: list[str], code: str | None
) -> None:
    names = ("data-0", "data-1", "data-2")
    pods = {name: member(name, revision="data-old" if name in outdated else "data-new") for name in names}
    verdict = judge_strategy(pool(updateStrategy=strategy), pods, batch)
    assert [reason.code for reason in verdict.reasons] == ([code] if code else [])


def owner(controller: bool = True) -> list[dict[str, Any]]:
    kind = {"kind": "OpenSearchCluster", "name": "logs", "apiVersion": "opensearch.opster.io/v1", "uid": "1"}
    return [{**kind, "controller": controller}]


def test_an_operator_that_owns_the_pool_is_named() -> None:
    verdict = judge_controller(pool(ownerReferences=owner()))
    assert verdict.state is State.REFUSED
    assert "OpenSearchCluster logs" in verdict.reasons[0].message
    assert judge_controller(pool(ownerReferences=owner(controller=False))).passed
    assert judge_controller(pool()).passed


def managed_by(manager: str, subresource: str = "") -> list[dict[str, Any]]:
    return [{"manager": manager, "operation": "Update", "subresource": subresource, "fieldsV1": {"f:spec": {}}}]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({}, None),
        ({"managedFields": managed_by("kubectl-client-side-apply")}, None),
        ({"managedFields": managed_by("kube-controller-manager", "status")}, None),
        ({"managedFields": managed_by("argocd-controller")}, "argocd"),
        ({"managedFields": managed_by("argocd-controller", "status")}, None),
        ({"managedFields": managed_by("kustomize-controller")}, "flux"),
        ({"managedFields": managed_by("helm-controller")}, "flux"),
        ({"managedFields": managed_by("helm")}, "helm"),
        ({"labels": {"argocd.argoproj.io/instance": "search"}}, "argocd"),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "search:apps/StatefulSet:search/data"}}, "argocd"),
        ({"labels": {"kustomize.toolkit.fluxcd.io/name": "search"}}, "flux"),
        ({"labels": {"helm.toolkit.fluxcd.io/name": "search"}}, "flux"),
        ({"annotations": {"meta.helm.sh/release-name": "search"}}, "helm"),
        ({"labels": {"kapp.k14s.io/app": "1643"}}, "kapp"),
        ({"annotations": {"configsync.gke.io/resource-id": "apps_statefulset_search_data"}}, "configsync"),
        ({"labels": {"resources.gardener.cloud/managed-by": "gardener"}}, "gardener"),
        ({"managedFields": managed_by("apiextensions.crossplane.io/composed/ef08e4")}, "crossplane"),
        ({"labels": {"app.oam.dev/name": "search"}}, "kubevela"),
        (
            {
                "labels": {"objectset.rio.cattle.io/hash": "bce2"},
                "annotations": {"objectset.rio.cattle.io/owner-gvk": "k3s.cattle.io/v1, Kind=Addon"},
            },
            "k3s",
        ),
        ({"managedFields": managed_by("deploy@server-1")}, "k3s"),
        ({"labels": {"objectset.rio.cattle.io/hash": "bce2"}}, "fleet"),
        ({"managedFields": managed_by("Terraform")}, "terraform"),
        ({"managedFields": managed_by("pulumi-kubernetes-12ab")}, "pulumi"),
        # `helm template | kubectl apply`: the chart's label alone does not make Helm come back.
        ({"labels": {"app.kubernetes.io/managed-by": "Helm"}}, None),
    ],
)
def test_what_deploys_the_pool_is_named_unless_it_is_allowed(changes: dict[str, Any], key: str | None) -> None:
    seen = pool(**changes)
    verdict = judge_deployer(seen)
    assert verdict.state is (State.REFUSED if key else State.PASSED)
    if key:
        assert f"allow_field_managers to [{key}]" in verdict.reasons[0].remedy
        assert judge_deployer(seen, [key]).passed


def test_the_outermost_deployer_is_named_where_it_renders_a_chart() -> None:
    seen = pool(labels={"helm.toolkit.fluxcd.io/name": "s"}, annotations={"meta.helm.sh/release-name": "s"})
    assert "Flux" in judge_deployer(seen).reasons[0].message
    assert judge_deployer(seen, ["helm"]).state is State.REFUSED
    assert judge_deployer(seen, ["flux"]).passed


def test_owner_and_deployer_are_told_together() -> None:
    verdict = judge_owner(pool(ownerReferences=owner(), managedFields=managed_by("helm")), ["flux"])
    assert [reason.code for reason in verdict.reasons] == ["pool_owned", "pool_deployed_by_another"]


def test_the_selector_is_written_as_a_query() -> None:
    expressions = [
        {"key": "tier", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
        {"key": "zone", "operator": "Exists"},
        {"key": "kind", "operator": "NotIn", "values": ["x"]},
    ]
    selector = {"matchLabels": {"app": "data"}, "matchExpressions": expressions}
    assert pool(selector=selector).selector == "app=data,tier in (a,b),!old,zone,kind notin (x)"
