"""The variables of a host that are for the upgrade of its cluster."""

from __future__ import annotations

from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.stateful.upgrade.plugins.lookup.cluster_variables import LookupModule


def found(variables: dict[str, Any], playbook: str = "opensearch") -> dict[str, dict[str, Any]]:
    loader = DataLoader()
    lookup = LookupModule(loader=loader, templar=Templar(loader=loader, variables=variables))
    (told,) = lookup.run([playbook], variables)
    return dict(told)


def test_the_variables_of_the_playbook_are_handed_on_and_secrets_are_told_apart() -> None:
    variables = {
        "target_version": "3.8.0",
        "upgrade_namespace": "search",
        "upgrade_opensearch": {"hosts": ["https://a:9200"], "password": "hidden"},
        "upgrade_kubernetes_api_key": "key",
        "upgrade_wait": "",
        "upgrade_namespac": "misspelt",
        "upgrade_confirm": "p1",
        "upgrade_fleet_waves": [1],
        "own_variable": "mine",
    }
    assert found(variables) == {
        "variables": {
            "target_version": "3.8.0",
            "upgrade_namespace": "search",
            "upgrade_opensearch_hosts": ["https://a:9200"],
            "upgrade_namespac": "misspelt",
        },
        "secrets": {"upgrade_opensearch_password": "hidden", "upgrade_kubernetes_api_key": "key"},
    }


def test_each_playbook_has_its_own_variables() -> None:
    for playbook in ("opensearch_hosts", "restart", "restart_hosts", "longhorn"):
        assert found({"upgrade_record_path": "/records", "target_version": None}, playbook)["variables"] == {
            "upgrade_record_path": "/records"
        }
