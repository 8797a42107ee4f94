"""The consents that are given for databases on machines."""

from __future__ import annotations

from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.workloads.workload import consents_of_workloads


def test_each_consent_is_named_with_its_database() -> None:
    consents: dict[str, Any] = {"allow_single_copy": ["bare"], "allow_quorum_loss": True, "allow_red_indices": []}
    none: dict[str, Any] = {"allow_single_copy": [], "allow_quorum_loss": False, "allow_red_indices": []}
    search = {"system": "opensearch", "namespace": "search", "opensearch": {}}
    longhorn = {"system": "longhorn", "namespace": None, "opensearch": None}
    assert consents_of_workloads({"workloads": [{**search, **consents}, {**longhorn, **none}]}) == {
        "upgrade_workloads.allow_single_copy of OpenSearch in namespace search": ["bare"],
        "upgrade_workloads.allow_quorum_loss of OpenSearch in namespace search": True,
    }
