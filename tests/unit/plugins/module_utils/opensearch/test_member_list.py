"""The members of a cluster with their Kubernetes nodes, whatever their pods belong to."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Namespace
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import member_list
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes import objects
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import cluster, copy, info


def test_a_member_whose_pod_is_of_no_stateful_set_has_its_kubernetes_node(monkeypatch: pytest.MonkeyPatch) -> None:
    state = cluster({name: info(name) for name in ("data-0", "client")}, [copy("logs", "data-0", primary=True)])
    pods = (
        objects.member("data-0", node="one"),
        objects.member("client", node="two", owner="of a Deployment"),
        objects.member("another", node="two", owner="of a Deployment"),
    )
    there = Namespace("search", (objects.pool(replicas=1),), pods)
    monkeypatch.setattr(kubernetes, "connect", lambda _options: None)
    monkeypatch.setattr(member_list, "observe_namespace", lambda _client, _name: there)
    params = {"kubernetes": {}, "namespace": "search", "zone_attribute": "zone"}
    found = {each.name: (each.pool, each.kubernetes_node) for each in member_list.members_in(state, params)}
    assert found == {"data-0": ("data", "one"), "client": ("", "two")}
