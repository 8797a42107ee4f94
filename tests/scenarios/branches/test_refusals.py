"""Bad input on a real cluster: one clear message that names thing, cause and remedy, and nothing is touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.cluster import Cluster
from tests.scenarios.preconditions import POOL, budget, events_of, index, marked, owner, setting, user_without
from tests.scenarios.refusing import NARROW, SECRET, Refuse, Run

TO = "3.8.0"
NOWHERE = "https://127.0.0.1:9"


SOAK = [pytest.mark.soak]
"""One of several cases that are judged alike is enough here. The judges have tests of all."""


@dataclass(frozen=True)
class Case:
    """A fault, and the sentences about it, in this order."""

    says: tuple[str, ...]
    target: str = TO
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)


CASES = {
    "no-consent": Case(
        ("was not confirmed, so nothing was done", "run again with -e upgrade_confirm=p", "type yes"),
    ),
    "consent-to-another-plan": Case(
        ("upgrade_confirm names the plan p00000000000, and the plan is p", "run again with -e upgrade_confirm=p"),
        variables={"upgrade_confirm": "p00000000000"},
    ),
    "take-over-of-nothing": Case(
        ("Run nobody, from which the lock was to be taken over, does not hold it", "No run does"),
        variables={"upgrade_take_over": "nobody"},
    ),
    "unknown-pool": Case(
        ("no pool (StatefulSet) nope in namespace", "Correct pools (upgrade_pools)", POOL),
        variables={"upgrade_pools": ["nope"]},
    ),
    "unknown-member": Case(
        ("no member opensearch-members-7", "Correct members (upgrade_members)", f"{POOL}-0"),
        variables={"upgrade_members": [f"{POOL}-2", f"{POOL}-7"]},
    ),
    "kubernetes-unreachable": Case(
        (f"Kubernetes API at {NOWHERE} cannot be reached", "Connection refused", "Check upgrade_kubernetes.host"),
        variables={"upgrade_kubernetes": {"host": NOWHERE, "api_key": SECRET}},
    ),
    "opensearch-unreachable": Case(
        (f"cluster at {NOWHERE} cannot be reached", "Connection refused", "Check upgrade_opensearch.hosts"),
        variables={"upgrade_opensearch": {"hosts": [NOWHERE], "username": "upgrade", "password": SECRET}},
    ),
    "both-unreachable": Case(
        ("Kubernetes API at", "Connection refused", "kubernetes.host", "cluster at", "refused", "opensearch.hosts"),
        variables={
            "upgrade_kubernetes": {"host": NOWHERE, "api_key": SECRET},
            "upgrade_opensearch": {"hosts": [NOWHERE]},
        },
    ),
    "kubeconfig-missing": Case(
        ("The kubeconfig nowhere.kubeconfig cannot be used", "no such file", "kubernetes.kubeconfig"),
        variables={"upgrade_kubernetes": {"kubeconfig": "nowhere.kubeconfig"}},
    ),
    "downgrade": Case(
        (
            f"{POOL}-0, {POOL}-1, {POOL}-2 run 2.19.6",
            "newer than 2.11.1",
            "downgrade is not possible",
            "target_version",
        ),
        target="2.11.1",
    ),
    "two-majors": Case(("run 2.19.6", "4.0.0 is 2 major versions ahead", "one major at a time"), target="4.0.0"),
    "no-version": Case(("target_version 'latest' is not a version", "such as 3.8.0"), target="latest"),
    "no-image-of-this-line": Case(
        ("Image opensearch:2.19.9 cannot be pulled", "not found", "Correct the image name"), target="2.19.9"
    ),
    "no-image-of-the-next-major": Case(
        ("Image opensearch:3.8.9 cannot be pulled on Kubernetes node", "not found"), target="3.8.9"
    ),
    "limit": Case(
        ("Not supported: --limit localhost.", "skipped silently", "upgrade_members"), arguments=("-l", "localhost")
    ),
    "limit-to-nothing": Case(("Not supported: --limit nobody.",), arguments=("--limit", "nobody")),
    "tags": Case(("Not supported: --tags plan.", "--check"), arguments=("--tags", "plan")),
    "skip-tags": Case(("Not supported: --skip-tags plan.",), arguments=("--skip-tags", "plan")),
    "skip-tags-always": Case(("Not supported: --skip-tags always.",), arguments=("--skip-tags", "always")),
    "start-at-a-task-that-acts": Case(
        ("Not supported: --start-at-task Put allocation back.",), arguments=("--start-at-task", "Put allocation back")
    ),
    "start-at-no-task": Case(("Not supported: --start-at-task nowhere.",), arguments=("--start-at-task", "nowhere")),
    "several-options": Case(
        ("Not supported: --limit all --tags plan --step.",), arguments=("--step", "--limit", "all", "--tags", "plan")
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_it_is_refused(case: Case, refuse: Refuse) -> None:
    refuse(case.target, *case.arguments, says=case.says, **case.variables)


def test_missing_variables_are_named(refuse: Refuse) -> None:
    missing = ("target_version", "upgrade_namespace")
    refuse(without=missing, says=tuple(f"{name} is missing" for name in missing))


def test_unreadable_variables_are_all_named(refuse: Refuse) -> None:
    refuse(
        upgrade_gate_timeout="soon",
        upgrade_allow_field_managers=["spinnaker"],
        says=("upgrade_allow_field_managers has spinnaker", "argocd, flux, ", "upgrade_gate_timeout is 'soon'"),
    )


def test_an_option_that_does_not_exist(refuse: Refuse) -> None:
    options = {"hosts": [NOWHERE], "pasword": SECRET}
    refuse(upgrade_opensearch=options, says=("upgrade_opensearch.pasword", "did you mean password?"))


def test_the_group_of_the_batches_is_reserved(refuse: Refuse, tmp_path: Path) -> None:
    inventory = tmp_path / "inventory.yml"
    inventory.write_text("stateful_upgrade_batches: {hosts: {search-1: }}\n", encoding="utf-8")
    refuse(
        TO, "-i", str(inventory), says=("group stateful_upgrade_batches", "search-1", "reserved", "Rename the group")
    )


# Kubernetes with fewer rights, or none.


def test_missing_rights_are_named_at_once(standing: Cluster, refuse: Refuse) -> None:
    with user_without(standing, "limited", ("delete", "pods"), ("patch", "statefulsets")) as options:
        said = refuse(
            upgrade_kubernetes=options,
            says=(f"may not patch statefulsets, delete pods in namespace {standing.namespace}", "Add to a Role"),
        )
    assert '{apiGroups: ["apps"], resources: ["statefulsets"], verbs: ["patch"]}' in said
    assert '{apiGroups: [""], resources: ["pods"], verbs: ["delete"]}' in said
    assert options["api_key"] not in said


def test_a_user_who_may_do_nothing_is_told_all_at_once(refuse: Refuse) -> None:
    refuse(
        upgrade_namespace="default",
        says=(
            "may not get/list/patch statefulsets, list/create/delete pods, get/list/create/patch/delete leases, "
            "get/list/create/patch configmaps in namespace default",
            "Add to a Role",
        ),
    )


def test_rights_that_only_explain_are_not_needed(standing: Cluster, run: Run) -> None:
    before = standing.fingerprint()
    with user_without(standing, "silent", ("list", "events"), ("get", "pods/log")) as options:
        played = run(TO, "--check", upgrade_kubernetes=options, **NARROW)
    assert played.code == 0
    assert "of the Kubernetes API may not get pods/log, list events" in played.output
    assert standing.fingerprint() == before


def test_a_wrong_token(standing: Cluster, refuse: Refuse) -> None:
    with standing.platform.client() as api:
        host, authority = api.configuration.host, api.configuration.ssl_ca_cert
        refuse(
            upgrade_kubernetes={"host": host, "api_key": SECRET, "ca_cert": authority},
            says=(f"Kubernetes API at {host} did not accept the credentials (401)", "Renew the token"),
        )


# Pools that something else governs.


def test_a_pool_of_another_controller(standing: Cluster, refuse: Refuse) -> None:
    with owner(standing) as reference, marked(standing, ownerReferences=[reference]):
        refuse(
            upgrade_allow_field_managers=["helm", "argocd", "flux"],
            says=(f"StatefulSet {POOL} is controlled by ConfigMap operator", "Change the version in"),
        )


DEPLOYERS = {
    "argocd": ("Argo CD", {"labels": {"argocd.argoproj.io/instance": "search"}}),
    "flux": ("Flux", {"labels": {"helm.toolkit.fluxcd.io/name": "search"}}),
    "helm": ("Helm", {"annotations": {"meta.helm.sh/release-name": "search"}}),
}


@pytest.mark.parametrize("key", ["argocd", *(pytest.param(each, marks=SOAK) for each in ("flux", "helm"))])
def test_a_pool_that_is_deployed_by_another(key: str, standing: Cluster, refuse: Refuse, run: Run) -> None:
    name, metadata = DEPLOYERS[key]
    others = [other for other in DEPLOYERS if other != key]
    with marked(standing, **metadata):
        refuse(
            upgrade_allow_field_managers=others,
            says=(f"{name} governs", f"StatefulSet {POOL}", "=search", f"set upgrade_allow_field_managers to [{key}]"),
        )
        before = standing.fingerprint()
        allowed = run(TO, "--check", upgrade_allow_field_managers=[key], **NARROW)
        assert allowed.code == 0, allowed.message
        assert standing.fingerprint() == before


# A cluster that is not fit for it.


def test_a_budget_that_could_never_be_kept(standing: Cluster, refuse: Refuse) -> None:
    with budget(standing, "keep", healthy=3):
        refuse(says=("PodDisruptionBudget keep never lets more than 0 of its 3 pods go", "change the budget"))


def test_allocation_that_was_switched_off(standing: Cluster, refuse: Refuse) -> None:
    with setting(standing, "cluster.routing.allocation.enable", "none"):
        refuse(says=("cluster.routing.allocation.enable is set to none", "could not come back", "to all or null"))


def test_a_refusal_is_told_among_the_events_of_the_pool(standing: Cluster, refuse: Refuse) -> None:
    with setting(standing, "cluster.routing.allocation.enable", "new_primaries"):
        refuse(says=("cluster.routing.allocation.enable is set to new_primaries",))
    told = [event for event in events_of(standing, POOL) if "new_primaries" in event.message]
    assert [(event.type, event.reason) for event in told] == [("Warning", "UpgradeRefused")]


def test_a_cluster_that_is_read_only(standing: Cluster, refuse: Refuse) -> None:
    with setting(standing, "cluster.blocks.read_only", "true"):
        refuse(says=("whole cluster is blocked", "read-only", "Remove the block"))


def test_single_copies_need_consent(standing: Cluster, refuse: Refuse, run: Run) -> None:
    with index(standing, "single", shards=1, replicas=0):
        refuse(says=("only configured copy of single[0]", "allow_single_copy"))
        before = standing.fingerprint()
        refuse(says=("only configured copy of single[0]",), upgrade_allow_single_copy=["s*", "-single"])
        allowed = run(TO, "--check", upgrade_allow_single_copy="sing*", **NARROW)
        assert allowed.code == 0, allowed.message
        assert "Note: upgrade_allow_single_copy (sing*) covers 1 index: single." in allowed.output
        assert standing.fingerprint() == before
