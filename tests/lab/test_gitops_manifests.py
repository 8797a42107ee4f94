"""The folders of extensions/gitops before a real API server, which refuses a field that it does not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient

from tests.kustomization import NAME, built
from tests.lab.namespace import Namespace

GITOPS = Path(__file__).parents[2] / "extensions" / "gitops"
FOLDERS = sorted(path.parent for path in GITOPS.rglob(NAME) if path.parent != GITOPS / "openshift")
"""All but a component, which is built as part of its example."""
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


def tried(namespace: Namespace, objects: list[dict[str, Any]]) -> None:
    """Create the objects without keeping them. Raises ApiException for a field that is unknown or given twice."""
    with namespace.lab.client() as api:
        dynamic = DynamicClient(api, cache_file=str(namespace.lab.directory / "discovery.json"))
        for each in objects:
            resource = dynamic.resources.get(api_version=each["apiVersion"], kind=each["kind"])
            about = {**each["metadata"], "namespace": namespace.name}
            subjects = [{**subject, "namespace": namespace.name} for subject in each.get("subjects", [])]
            body = {**each, "metadata": about, **({"subjects": subjects} if subjects else {})}
            query = [("dryRun", "All"), ("fieldValidation", "Strict")]
            dynamic.create(resource, body=body, namespace=namespace.name, query_params=query)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(GITOPS)))
def test_every_object_is_accepted_field_by_field(namespace: Namespace, folder: Path) -> None:
    objects = built(folder)
    tried(namespace, objects)
    with pytest.raises(ApiException, match="unknown field"):
        tried(namespace, [{**objects[0], "misspelt": True}])


@pytest.mark.parametrize(("folder", "way"), [("job", ["spec"]), ("cronjob", ["spec", "jobTemplate", "spec"])])
def test_the_pods_may_run_in_a_namespace_that_restricts_them(namespace: Namespace, folder: str, way: list[str]) -> None:
    namespace.core.patch_namespace(namespace.name, {"metadata": {"labels": RESTRICTED}})
    (runner,) = (each for each in built(GITOPS / folder) if each["kind"] in {"Job", "CronJob"})
    for name in way:
        runner = runner[name]
    # The account has to be there before a pod of it.
    tried_account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "stateful-upgrade"}}
    namespace.apply(tried_account)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": runner["template"]["spec"]}
    tried(namespace, [pod])
    pod["spec"]["containers"][0].pop("securityContext")
    with pytest.raises(ApiException, match="violates PodSecurity"):
        tried(namespace, [pod])
