"""Plans of OpenShift: all that is against an upgrade or is worth a remark, at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.timestamps import timestamp_of

from tests.runs.openshift import NAMESPACE, PLAYBOOK, SYSTEM, shipped_rights
from tests.runs.test_openshift import TARGET, CalledOpenShift, codes
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import BUDGETS, CLUSTER_ROLES, CONFIG_MAPS, DEFINITIONS, PODS, VOLUMES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.longhorn.definitions import LONGHORN
from tests.sandbox.longhorn.kinds import NAMESPACE as LONGHORN_NAMESPACE
from tests.sandbox.longhorn.kinds import REPLICAS
from tests.sandbox.openshift.asking import NEXT, SMALL, pool
from tests.sandbox.openshift.kinds import ACKS, ACKS_NAMESPACE, POOLS, REQUIRED
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import PLAN, Played, digest_in

GATE = "ack-4.18-kube-1.32-api-removals-in-4.19"
API = "flowschemas.v1beta3.flowcontrol.apiserver.k8s.io"
NEXT_MINOR = replace(
    SMALL,
    version="4.18.2",
    channel=NEXT,
    gates={GATE: "APIs are removed, see https://example.com.", "ack-4.17-old": "Of the past."},
    removed_apis={
        API: ("1.32", 1204),
        "cronjobs.v1.batch": ("1.40", 9),
        "pods.v1": ("1.32", 0),
        "old.v1": ("1.31", 5),
    },
)
MINOR = {"target_version": "4.19.0"}


def acknowledge(cluster: CalledOpenShift) -> None:
    """Give the acknowledgement, as the remedy says it."""
    cluster.openshift.resources.change(
        CONFIG_MAPS, ACKS_NAMESPACE, ACKS, lambda item: item.update(data={GATE: "true"}), Writing("kubectl")
    )
    cluster.openshift.clock.advance(300)


def planned(cluster: CalledOpenShift, **more: Any) -> Played:
    """The plan, where other users have written before."""
    return cluster.here.play(PLAN, {**cluster.variables(**more), **SYSTEM})


def without_right(cluster: CalledOpenShift, resource: str) -> None:
    """Take a rule of the shipped ClusterRole away."""

    def change(item: dict[str, object]) -> None:
        rules = item["rules"]
        assert isinstance(rules, list)
        item["rules"] = [each for each in rules if resource not in each["resources"]]

    cluster.openshift.resources.change(CLUSTER_ROLES, "", "stateful-upgrade-openshift", change, Writing("admin"))


def test_a_missing_acknowledgement_is_refused_once_with_its_command(here: World) -> None:
    cluster = CalledOpenShift(here, NEXT_MINOR)
    refused = cluster.plan(**MINOR)
    assert codes(refused) == ["acknowledgement_missing"]
    assert f"{GATE}: APIs are removed, see https://example.com." in refused.output
    patch = f'{{\\"data\\":{{\\"{GATE}\\":\\"true\\"}}}}'
    command = f"oc -n openshift-config patch cm admin-acks --patch '{patch}' --type=merge"
    assert command in refused.output
    acknowledge(cluster)
    assert planned(cluster, **MINOR).code == 0


def test_another_kubernetes_is_no_openshift(here: World) -> None:
    here.sandbox.apply(shipped_rights())
    kubernetes = {"kubeconfig": str(here.sandbox.kubeconfig(USER))}
    given = {"target_version": TARGET, "upgrade_namespace": NAMESPACE, "upgrade_kubernetes": kubernetes}
    assert codes(here.play(PLAN, {**given, **SYSTEM})) == ["openshift_missing"]


@pytest.mark.parametrize("knows", [False, True], ids=["without the kind", "without pools"])
def test_a_hosted_control_plane_is_refused(here: World, *, knows: bool) -> None:
    cluster = CalledOpenShift(here)
    resources = cluster.openshift.resources
    for name in ("master", "worker"):
        resources.delete(POOLS, "", name)
    if not knows:
        resources.delete(DEFINITIONS, "", f"{POOLS.plural}.{POOLS.group}")
    refused = planned(cluster)
    assert codes(refused) == ["control_plane_hosted"], refused.output
    assert "is hosted by another cluster" in refused.output


def test_the_only_kubernetes_node_of_a_control_plane_keeps_no_majority(here: World) -> None:
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master", 1),)))
    said = planned(cluster).output
    assert "master-0 is its only Kubernetes node, so the Kubernetes API is away while that restarts" in said
    assert "majority" not in said
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    cluster.is_upgraded()


def test_other_causes_against_a_minor_version_are_said_beside_the_acknowledgement(here: World) -> None:
    cluster = CalledOpenShift(here, NEXT_MINOR)
    cluster.openshift.faults.operator_not_upgradeable("etcd")
    cluster.openshift.clock.advance(60)
    refused = cluster.plan(**MINOR)
    assert codes(refused) == ["acknowledgement_missing", "not_upgradeable"]
    assert refused.output.count("APIs are removed") == refused.output.count("asks for the acknowledgement")
    assert "cannot go to another minor version: a setting is not supported any more" in refused.output


def test_operators_that_are_not_well_are_named_in_a_line_of_their_own(here: World) -> None:
    cluster = CalledOpenShift(here)
    cluster.openshift.faults.operator_stays_degraded("etcd")
    cluster.openshift.faults.operator_unavailable("monitoring")
    cluster.openshift.clock.advance(60)
    refused = cluster.plan()
    assert codes(refused) == ["operator_unwell", "timed_out"]
    assert "  4 cluster operators; not available or degraded: etcd, monitoring\n" in refused.output


def test_an_api_in_use_that_the_target_has_no_more_is_a_remark(here: World) -> None:
    cluster = CalledOpenShift(here, replace(NEXT_MINOR, gates={}))
    passed = cluster.plan(**MINOR)
    assert passed.code == 0, passed.output
    assert f"The API {API} is in use (requests in 24 hours: 1,204)" in passed.output
    assert "Most by system:serviceaccount:search:client (client/1, 1,204)" in passed.output
    for other in ("cronjobs.v1.batch", "pods.v1", "old.v1"):
        assert other not in passed.output


def test_a_patch_version_asks_for_neither(here: World) -> None:
    passed = CalledOpenShift(here, NEXT_MINOR).plan(target_version="4.18.3")
    assert passed.code == 0, passed.output
    assert "The API" not in passed.output


def test_what_was_not_computed_is_said(here: World) -> None:
    cluster = CalledOpenShift(here, replace(NEXT_MINOR, gates={}))
    without_right(cluster, "apirequestcounts")
    without_right(cluster, "configmaps")
    passed = cluster.plan(**MINOR)
    assert passed.code == 0, passed.output
    assert "Not computed: the APIs in use that the target no longer has." in passed.output
    assert "is not allowed to list apirequestcounts" in passed.output
    assert "Not computed: the acknowledgements that are missing." in passed.output


def test_a_server_that_does_not_count_requests_is_no_failure(here: World) -> None:
    cluster = CalledOpenShift(here, replace(NEXT_MINOR, gates={}))
    cluster.openshift.resources.delete(DEFINITIONS, "", "apirequestcounts.apiserver.openshift.io")
    cluster.openshift.clock.advance(60)
    passed = cluster.plan(**MINOR)
    assert passed.code == 0, passed.output
    assert "Not computed: the APIs in use that the target no longer has." in passed.output


def database(cluster: CalledOpenShift, replicas: int = 3, **spec: Any) -> None:
    """Make a StatefulSet of pods in the namespace `search`, with further fields of the spec of its pods."""
    labels = {"app": "data", "app.kubernetes.io/name": "opensearch", "app.kubernetes.io/instance": "logs"}
    pod = {"containers": [{"name": "server", "image": "probe:1"}], **spec}
    template = {"metadata": {"labels": labels}, "spec": pod}
    sets: Json = {"serviceName": "data", "replicas": replicas, "selector": {"matchLabels": labels}}
    named = {"name": "data", "namespace": "search"}
    apply = cluster.openshift.kubernetes.apply
    apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "search"}}])
    apply([{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": named, "spec": {**sets, "template": template}}])
    cluster.openshift.clock.advance(300)


def budget(cluster: CalledOpenShift, name: str, **spec: object) -> None:
    """Make a budget of the pods of that StatefulSet."""
    body = {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": "data"}}, **spec}}
    cluster.openshift.resources.create(BUDGETS, "search", body)
    cluster.openshift.clock.advance(60)


def test_pods_under_two_budgets_are_refused_with_both_names(here: World) -> None:
    cluster = CalledOpenShift(here)
    database(cluster)
    budget(cluster, "first", maxUnavailable=1)
    budget(cluster, "second", minAvailable=1)
    refused = planned(cluster)
    assert codes(refused) == ["budgets_overlap"]
    said = "PodDisruptionBudgets first, second of namespace search all cover data-0, data-1, data-2 on Kubernetes nodes"
    assert said in refused.output


@pytest.mark.parametrize("spec", [{"minAvailable": "100%"}, {"minAvailable": 3}, {"maxUnavailable": 0}])
def test_a_budget_of_all_replicas_is_refused(here: World, spec: dict[str, object]) -> None:
    cluster = CalledOpenShift(here)
    database(cluster)
    budget(cluster, "all", **spec)
    refused = planned(cluster)
    assert codes(refused) == ["drain_never_ends"]
    assert "search/all never lets a pod go (3 of 3 have to be healthy), and keeps data-0, data-1" in refused.output


def test_a_budget_that_is_not_met_is_a_remark(here: World) -> None:
    cluster = CalledOpenShift(here)
    here.sandbox.faults.never_ready("search", "data-2")
    database(cluster)
    budget(cluster, "data", maxUnavailable=1)
    passed = planned(cluster)
    assert passed.code == 0, passed.output
    assert "PodDisruptionBudget search/data lets no pod go now (2 of 3 are healthy, 2 have to be)" in passed.output
    assert "and keeps data-0, data-1 on Kubernetes nodes" in passed.output


def test_a_budget_that_has_closed_during_the_upgrade_is_a_remark_at_its_end(here: World) -> None:
    cluster = CalledOpenShift(here)
    database(cluster)
    budget(cluster, "data", maxUnavailable=1)

    def close(_request: Request) -> None:
        if len(cluster.on_target()) == 6:
            here.calling.after = lambda _request: None
            spec = {"selector": {"matchLabels": {"app": "data"}}, "minAvailable": 3}
            cluster.openshift.resources.change(BUDGETS, "search", "data", lambda item: item.update(spec=spec))
            cluster.openshift.clock.advance(60)

    here.calling.after = close
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    assert "and let none go now: search/data. See whether their pods come back." in ended.output


def test_without_the_right_to_list_pods_budgets_are_not_computed(here: World) -> None:
    cluster = CalledOpenShift(here)
    database(cluster)
    budget(cluster, "all", maxUnavailable=0)
    without_right(cluster, "pods")
    passed = planned(cluster)
    assert passed.code == 0, passed.output
    assert "Not computed: the pods that budgets keep, and the room for those that move." in passed.output


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("Memory", "is under memory pressure"),
        ("Disk", "is under disk pressure"),
        ("PID", "has nearly no process ids left"),
    ],
)
def test_a_kubernetes_node_under_pressure_is_refused(here: World, kind: str, said: str) -> None:
    cluster = CalledOpenShift(here)
    cluster.openshift.faults.node_pressure("worker-1", kind)
    refused = planned(cluster)
    assert refused.code != 0
    assert "kubernetes_node_unfit" in codes(refused)
    assert f"Kubernetes node worker-1 {said}." in refused.output
    cluster.openshift.faults.node_pressure("worker-1", kind, there=False)
    assert planned(cluster).code == 0


def test_the_steps_of_a_run_prove_that_kubernetes_nodes_are_fit_before_and_after(here: World) -> None:
    cluster = CalledOpenShift(here)
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    steps = {each["type"]: each["reason"] for each in cluster.record()["conditions"]}
    assert (steps["nodes"], steps["nodes_after"]) == ("completed", "completed")


def test_a_run_that_goes_on_does_not_wait_for_what_the_machine_config_operator_does(here: World) -> None:
    cluster = CalledOpenShift(here)
    given = cluster.agreed(upgrade_record_kept_in="none")
    cluster.openshift.want(TARGET)
    # Another user has started the upgrade, and the masters are taken.
    assert cluster.openshift.until(
        lambda: any(cluster.openshift.node(f"master-{number}")["spec"].get("unschedulable") for number in range(3))
    )
    ended = here.play(
        PLAYBOOK, {**given, "upgrade_confirm": digest_in(planned(cluster, upgrade_record_kept_in="none"))}
    )
    assert ended.code == 0, ended.output
    assert "is cordoned" not in ended.output


def test_pods_that_find_no_room_on_other_kubernetes_nodes_are_a_remark_of_their_batch(here: World) -> None:
    cluster = CalledOpenShift(here)
    apart = {"labelSelector": {"matchLabels": {"app": "data"}}, "topologyKey": "kubernetes.io/hostname"}
    server = {"name": "server", "image": "probe:1", "resources": {"requests": {"cpu": "20"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    database(cluster, containers=[server], affinity=affinity)
    node = cluster.openshift.get(PODS, "data-0", "search")["spec"]["nodeName"]
    passed = planned(cluster)
    assert passed.code == 0, passed.output
    batch = f"nodes-0{int(node.rpartition('-')[2]) + 2}"
    said = f"Batch {batch}: 1 pod (search/data-0) finds no room on other Kubernetes nodes, by requests."
    assert said in passed.output
    assert (
        "Whether pods find room on other Kubernetes nodes was computed without this: affinity to other pods (3 pods)"
        in passed.output
    )


def test_pods_of_a_pool_that_goes_with_the_control_plane_have_to_find_room_too(here: World) -> None:
    infra = pool("infra", 2, max_unavailable=2)
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), pool("worker", 1), infra)))

    def label(item: Json) -> None:
        item["metadata"]["labels"] = {**(item["metadata"].get("labels") or {}), REQUIRED: ""}

    cluster.openshift.resources.change(POOLS, "", "infra", label, Writing("person"))
    server = {"name": "server", "image": "probe:1"}
    database(cluster, 2, containers=[server], nodeSelector={"node-role.kubernetes.io/infra": ""})
    passed = planned(cluster)
    assert passed.code == 0, passed.output
    said = "Batch nodes-01 (infra-0, infra-1): 2 pods (search/data-0, search/data-1) find no other Kubernetes node"
    assert said in passed.output


def test_without_the_right_to_list_volumes_their_zones_are_not_computed(here: World) -> None:
    cluster = CalledOpenShift(here)
    without_right(cluster, "persistentvolumes")
    passed = planned(cluster)
    assert passed.code == 0, passed.output
    assert "Not computed: the zones of volumes." in passed.output


def test_the_control_plane_is_predicted_by_its_last_update(here: World) -> None:
    cluster = CalledOpenShift(here)
    assert "about 40 min (a guess: nothing was measured here yet)" in planned(cluster).output
    cluster.openshift.want(TARGET)
    cluster.openshift.until(cluster.openshift.upgrade_done)
    entry = cluster.openshift.version()["status"]["history"][0]
    took = timestamp_of(entry["completionTime"]) - timestamp_of(entry["startedTime"])
    said = f"about {(took.total_seconds() + 3 * 600) / 60:.0f} min (in part a guess: no batch was measured here yet)"
    assert said in planned(cluster, target_version="4.18.3").output


def test_the_clusters_on_the_kubernetes_nodes_of_a_batch_are_named(here: World) -> None:
    cluster = CalledOpenShift(here)
    database(cluster)
    node = cluster.openshift.get(PODS, "data-0", "search")["spec"]["nodeName"]
    batch = f"nodes-0{int(node.rpartition('-')[2]) + 2}"
    said = f"Batch {batch} has on Kubernetes node {node} OpenSearch search/logs (data-0)."
    assert said in planned(cluster).output


def test_the_clusters_that_nothing_asks_are_named_once(here: World, tmp_path: Path) -> None:
    cluster = CalledOpenShift(here)
    assert "Nothing asks" not in planned(cluster).output
    database(cluster)
    said = (
        "Note: Nothing asks OpenSearch search/logs before their Kubernetes nodes are taken, so a shard or a volume may"
        " lose its last copy. Name them in upgrade_workloads, or ask them in a file of tasks (upgrade_workload_gate)."
    )
    assert planned(cluster).output.partition("Give the plan")[0].count(said) == 1
    gate = tmp_path / "gate.yml"
    gate.write_text("- ansible.builtin.debug: {}\n")
    assert "Nothing asks" not in planned(cluster, upgrade_workload_gate=str(gate)).output


def volume(cluster: CalledOpenShift, name: str, *places: str) -> None:
    """Make a volume of Longhorn for claim `search/NAME`, with a healthy replica on each of these Kubernetes nodes."""
    resources = cluster.openshift.resources
    csi = {"driver": "driver.longhorn.io", "volumeHandle": f"pvc-{name}"}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "csi": csi}
    spec |= {"claimRef": {"kind": "PersistentVolumeClaim", "namespace": "search", "name": name}}
    resources.create(VOLUMES, "", {"metadata": {"name": f"pvc-{name}"}, "spec": spec})
    bound = Writing("pv-controller", subresource="status")
    resources.change(VOLUMES, "", f"pvc-{name}", lambda item: item.update(status={"phase": "Bound"}), bound)
    for number, place in enumerate(places):
        own = {"volumeName": f"pvc-{name}", "nodeID": place, "failedAt": "", "healthyAt": "2026-11-01T00:00:00Z"}
        resources.create(REPLICAS, LONGHORN_NAMESPACE, {"metadata": {"name": f"{name}-{number}"}, "spec": own})


def test_volumes_that_have_their_last_healthy_replica_in_a_batch_are_named(here: World) -> None:
    cluster = CalledOpenShift(here)
    namespaces = ("search", LONGHORN_NAMESPACE)
    here.sandbox.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in namespaces])
    here.sandbox.apply(LONGHORN.definitions())
    volume(cluster, "both", "worker-0", "worker-1")
    volume(cluster, "alone", "worker-1")
    volume(cluster, "masters", "master-0", "master-1")
    said = planned(cluster).output
    for line in (
        "Batch nodes-01 has on its Kubernetes nodes healthy replicas of 1 volume"
        " (search/masters on master-0 and master-1).",
        "Batch nodes-02 has on Kubernetes node worker-0 healthy replicas of 1 volume (search/both).",
        "Batch nodes-03 has on Kubernetes node worker-1 healthy replicas of 2 volumes (search/alone, search/both)."
        " No other healthy replica: search/alone.",
    ):
        assert line in said, line
    assert "No other healthy replica: search/masters" not in said
    without_right(cluster, "replicas")
    assert "Not computed: where the replicas of Longhorn are." in planned(cluster).output
