"""The real custom resource definitions of OpenShift, out of the Go module of its API."""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.module_definitions import ModuleDefinitions

OPENSHIFT = ModuleDefinitions(
    "OpenShift",
    "github.com/openshift/api",
    "v0.0.0-20260511191110-9b69e5fa27e9",
    "h1:yb8ul1HPFYhO04yp0D8T/qSySZnKv210f4nE//i/Bdg=",
    tuple(
        f"{group}/zz_generated.crd-manifests/{file}.crd.yaml"
        for group, file in (
            ("config/v1", "0000_00_cluster-version-operator_01_clusterversions-Default"),
            ("config/v1", "0000_00_cluster-version-operator_01_clusteroperators"),
            ("machineconfiguration/v1", "0000_80_machine-config_01_machineconfigpools-Default"),
            ("machineconfiguration/v1", "0000_80_machine-config_01_machineconfigs"),
            ("machine/v1beta1", "0000_10_machine-api_01_machinesets-Default"),
            ("machine/v1beta1", "0000_10_machine-api_01_machines-Default"),
            ("machine/v1beta1", "0000_10_machine-api_01_machinehealthchecks"),
            ("apiserver/v1", "kube-apiserver_apirequestcounts"),
        )
    ),
)
"""Those of a cluster with the default feature set; others have fields that only a technology preview knows."""


def definitions() -> list[Json]:
    """The same with `desiredUpdate.mode`, which is in no default feature set yet (`UpdateMode` in
    `config/v1/types_cluster_version.go`, feature gate `ClusterUpdatePreflight`). A field that the API server does not
    know is dropped, so that an update which is only to be checked would begin."""
    found = OPENSHIFT.definitions()
    for each in found:
        if each["spec"]["names"]["kind"] == "ClusterVersion":
            for version in each["spec"]["versions"]:
                schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["desiredUpdate"]
                schema["properties"]["mode"] = {"type": "string", "enum": ["Preflight"]}
    return found
