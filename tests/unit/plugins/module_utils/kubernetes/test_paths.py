"""Paths of the Kubernetes API, and names that would lead elsewhere."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.paths import CORE, in_namespace
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.rights import Right
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.rights import ROLE, rights_for


def test_a_path_names_what_is_asked_for() -> None:
    assert in_namespace(CORE, "search", "pods") == "/api/v1/namespaces/search/pods"
    assert in_namespace(CORE, "search", "pods", "") == "/api/v1/namespaces/search/pods"
    path = in_namespace("/apis/apps/v1", "search-2", "statefulsets", "data")
    assert path == "/apis/apps/v1/namespaces/search-2/statefulsets/data"


def test_a_name_cannot_lead_elsewhere() -> None:
    assert in_namespace(CORE, "search", "pods", "../secrets?x#y") == (
        "/api/v1/namespaces/search/pods/..%2Fsecrets%3Fx%23y"
    )


@pytest.mark.parametrize("name", ["", "a/b", "../x", "Search", "a b", "a?b", "-a", "a-", "a" * 64, "a\n", "ä"])
def test_no_namespace_has_such_a_name(name: str) -> None:
    with pytest.raises(Refusal) as caught:
        in_namespace(CORE, name, "pods")
    assert caught.value.verdict.reasons[0].code == "namespace_not_valid"


def test_only_the_rights_are_asked_for_that_the_run_needs() -> None:
    assert rights_for(locks=True, records=True, proves_images=True) == ROLE
    less = rights_for(locks=False, records=False, proves_images=False)
    assert [right for right in ROLE if right not in less] == [
        Right("create", "", "pods"),
        *(Right(verb, "coordination.k8s.io", "leases") for verb in ("get", "list", "create", "patch", "delete")),
        *(Right(verb, "", "configmaps") for verb in ("get", "list", "create", "patch")),
    ]
