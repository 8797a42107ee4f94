"""The manifests fit each other, the command line of the service, and the packages that it imports."""

from __future__ import annotations

import ast
import re
import sys
from typing import Any

import yaml

from extensions.cluster_api.cluster_api_extension.__main__ import arguments
from extensions.cluster_api.cluster_api_extension.gates import SKIP
from tests.checks.rooms import impurities
from tests.checks.tree import ROOT
from tests.unit.cluster_api.management import RUNS, SERVICE
from tests.unit.cluster_api.manifests import EXTENSION, NAMESPACE, of_kind

Json = dict[str, Any]
SECRETS = {"cluster-api-extension-tls", "cluster-api-client-tls"}
PACKAGES = {"yaml": "PyYAML"}
"""Packages that are imported by another name than they are installed by."""


def registration() -> Json:
    content: Json = yaml.safe_load((EXTENSION / "registration" / "extension-config.yaml").read_text(encoding="utf-8"))
    return content


def pod() -> Json:
    (deployment,) = of_kind("Deployment")
    spec: Json = deployment["spec"]["template"]["spec"]
    return spec


def test_everything_is_in_one_namespace_or_in_none() -> None:
    (namespace,) = of_kind("Namespace")
    assert namespace["metadata"]["name"] == NAMESPACE
    for item in of_kind("ConfigMap", "Deployment", "Role", "RoleBinding", "Service", "ServiceAccount", "Certificate"):
        assert item["metadata"]["namespace"] == NAMESPACE
    for binding in of_kind("RoleBinding", "ClusterRoleBinding"):
        assert {subject["namespace"] for subject in binding["subjects"]} == {NAMESPACE}


def test_the_container_is_started_with_arguments_that_the_service_has() -> None:
    (container,) = pod()["containers"]
    found = arguments([*container["args"], "--namespace", NAMESPACE])
    assert (found.command, found.port, found.health_port) == (
        "serve",
        *(port["containerPort"] for port in container["ports"]),
    )
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert found.policy.parent.as_posix() == mounts["policy"]
    assert {path.parent.as_posix() for path in (found.certificate, found.key, found.client_ca)} == {mounts["tls"]}
    for probe in ("livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] == "health"


def test_the_pod_may_run_in_a_namespace_with_restricted_pods() -> None:
    (container,) = pod()["containers"]
    context = container["securityContext"]
    assert pod()["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert (context["allowPrivilegeEscalation"], context["capabilities"]) == (False, {"drop": ["ALL"]})
    user = re.search(r"^USER (\d+)", (EXTENSION / "Containerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert user is not None
    assert user.group(1) != "0"


def test_certificates_make_the_secrets_that_the_pod_and_the_registration_name() -> None:
    certificates = {item["spec"]["secretName"]: item["spec"] for item in of_kind("Certificate")}
    assert certificates.keys() >= SECRETS
    (tls,) = (volume["secret"]["secretName"] for volume in pod()["volumes"] if "secret" in volume)
    service = registration()["spec"]["clientConfig"]["service"]
    assert certificates[tls]["dnsNames"] == [f"{service['name']}.{service['namespace']}.svc"]
    (annotation,) = registration()["metadata"]["annotations"].values()
    assert annotation == f"{NAMESPACE}/{tls}"
    (served,) = of_kind("Service")
    assert (served["metadata"]["name"], served["spec"]["ports"][0]["port"]) == (service["name"], service["port"])


def test_in_the_whole_cluster_the_service_reads_machines_and_makes_upgrade_tasks_and_runs_annotate() -> None:
    found = {role["metadata"]["name"]: role["rules"] for role in of_kind("ClusterRole")}
    rule = {"apiGroups": ["cluster.x-k8s.io"], "resources": ["machines"]}
    tasks = {"apiGroups": ["upgrade.stateful"], "resources": ["upgradetasks"]}
    made = {**tasks, "verbs": ["get", "list", "create", "patch", "delete"]}
    read = {**tasks, "verbs": ["list"]}
    assert found == {
        SERVICE: [{**rule, "verbs": ["get"]}, made],
        RUNS: [{**rule, "verbs": ["get", "patch"]}, read],
    }
    for item in of_kind("Role"):
        assert {resource for rule in item["rules"] for resource in rule["resources"]} == {"configmaps", "leases"}


def imported() -> set[str]:
    found: set[str] = set()
    for path in (EXTENSION / "cluster_api_extension").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names)


def test_the_image_gets_exactly_the_packages_that_are_imported() -> None:
    written = (EXTENSION / "requirements.txt").read_text(encoding="utf-8")
    listed = {re.split(r"[<>=]", line)[0] for line in written.splitlines() if line and not line.startswith("#")}
    assert listed == {PACKAGES.get(name, name) for name in imported()}


PURE = (
    "bodies",
    "coverage",
    "discovery",
    "documents",
    "external",
    "fields",
    "gates",
    "policy",
    "tasks",
    "upgrade_tasks",
)


def test_judgements_are_pure() -> None:
    for name in PURE:
        text = (EXTENSION / "cluster_api_extension" / f"{name}.py").read_text(encoding="utf-8")
        assert "Pure: no I/O" in text
        assert list(impurities(ast.parse(text))) == []


def test_the_page_names_what_the_code_reads() -> None:
    page = (ROOT / "docs" / "cluster-api.md").read_text(encoding="utf-8")
    for name in (SKIP, "upgrade.stateful/clear", "disableInPlaceUpdates", "uncovered", "MACHINE_TASK_RESULT", *SECRETS):
        assert name in page


def test_the_worker_of_the_example_has_arguments_that_the_command_line_knows_and_time_to_end() -> None:
    text = (ROOT / "docs" / "examples" / "cluster-api-worker.yml").read_text(encoding="utf-8")
    deployment = yaml.safe_load(text)
    spec = deployment["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    first, *rest = container["args"]
    found = arguments([first, "--namespace", NAMESPACE, *rest])
    assert (found.command, found.confirm_plan, found.run[0]) == ("work", True, "ansible-playbook")
    assert (deployment["metadata"]["namespace"], spec["serviceAccountName"]) == (NAMESPACE, RUNS)
    assert spec["terminationGracePeriodSeconds"] >= 3600
    assert {*re.findall(r"{(\w+)}", " ".join(found.run))} == {"version", "kubernetes_node"}
