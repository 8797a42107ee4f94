"""Operators of OLM that hold up a later upgrade of a chain are named in its plan."""

from __future__ import annotations

import json

from tests.runs.openshift import shipped_rights
from tests.runs.test_openshift_chain import TO_EVEN, Chained
from tests.runs.test_openshift_target import goes
from tests.runs.world import World
from tests.sandbox.kubernetes.objects import Json

GROUP, KIND = "operators.coreos.com", "ClusterServiceVersion"
NAMES = {"kind": KIND, "plural": "clusterserviceversions", "singular": "clusterserviceversion"}
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
DEFINITION: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"clusterserviceversions.{GROUP}"},
    "spec": {
        "group": GROUP,
        "names": NAMES,
        "scope": "Namespaced",
        "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": SCHEMA}],
    },
}


def installed(namespace: str, **labels: str) -> list[Json]:
    """An operator in a namespace that supports no later version than 4.19."""
    properties = json.dumps([{"type": "olm.maxOpenShiftVersion", "value": "4.19"}])
    metadata = {"name": "loki.v5", "namespace": namespace, "labels": labels}
    own = {"metadata": {**metadata, "annotations": {"olm.properties": properties}}}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    return [space, {"apiVersion": f"{GROUP}/v1alpha1", "kind": KIND, **own}]


def test_an_operator_that_a_later_upgrade_waits_for_is_named_once(here: World) -> None:
    cluster = Chained(here)
    here.sandbox.apply([DEFINITION])
    here.sandbox.apply([*installed("logging"), *installed("default-apps", **{"olm.copiedFrom": "logging"})])
    said = "The upgrade from 4.19.4 to 4.20.2 waits for operators of OLM that support no later OpenShift: "
    planned = goes(cluster.plan(**TO_EVEN))
    assert f"{said}logging/loki.v5 (4.19). Update them before, or while the run waits at 4.19.4." in planned.output
    # OpenShift itself says so of the next minor version.
    assert said[:20] not in goes(cluster.plan(target_version="4.19.4", upgrade_channel="stable-4.19")).output


def test_without_the_right_it_is_said_that_it_was_not_computed(here: World) -> None:
    cluster = Chained(here)
    here.sandbox.apply([DEFINITION, *installed("logging")])
    former = [each for each in shipped_rights() if each["kind"] == "ClusterRole"]
    former[0]["rules"] = [each for each in former[0]["rules"] if each["apiGroups"] != [GROUP]]
    here.sandbox.apply(former)
    not_computed = "Not computed: the operators of OLM that later versions wait for."
    assert not_computed in goes(cluster.plan(**TO_EVEN)).output
    # Of the only upgrade that is left OpenShift itself says so.
    left = {"target_version": "4.19.4", "upgrade_through": "4.18.2", "upgrade_channel": "stable-4.19"}
    assert not_computed not in goes(cluster.plan(**left)).output
