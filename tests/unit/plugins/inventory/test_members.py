"""The variables of members are texts of the cluster, never templates, and no misspelt option is ignored."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleParserError
from ansible.inventory.data import InventoryData
from ansible_collections.stateful.upgrade.plugins.inventory.members import CLUSTER, InventoryModule
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.member_list import Listed

TEMPLATE = "{{ 1 + 1 }}"


def test_a_text_of_the_cluster_is_no_template(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped: list[Any] = []

    def noted(value: Any) -> Any:
        wrapped.append(value)
        return value

    # From ansible-core 2.19 on, such a text is no template in any case.
    monkeypatch.setattr(f"{InventoryModule.__module__}.wrap_var", noted)
    options: dict[str, Any] = {"strict": True, "compose": {}, "groups": {}, "keyed_groups": []}
    plugin = InventoryModule()
    monkeypatch.setattr(plugin, "get_option", options.__getitem__)
    plugin.inventory = InventoryData()
    plugin.inventory.add_group(CLUSTER)
    plugin._add(Listed("data-0", "data", TEMPLATE, "3.8.0", (TEMPLATE,), 1, elected=False, kubernetes_node=TEMPLATE))
    found = plugin.inventory.get_host("data-0").get_vars()
    assert [each for each in wrapped if isinstance(each, list)] == [[TEMPLATE]]
    assert wrapped.count(TEMPLATE) == 2
    assert (found["member_zone"], found["member_roles"]) == (TEMPLATE, [TEMPLATE])


def test_a_misspelt_option_is_refused_before_the_cluster_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = InventoryModule()
    plugin._defs = {name: {} for name in ("plugin", "namespace", "keyed_groups")}
    given = {"plugin": plugin.NAME, "namespce": "search", "keyed_groups": [], "_pools": "data", 8: ""}
    monkeypatch.setattr(plugin, "_read_config_data", lambda _path: given)
    with pytest.raises(AnsibleParserError) as refused:
        plugin.parse(InventoryData(), None, "members.yml")
    assert "members.yml: namespce is not an option: did you mean namespace?" in str(refused.value)
    assert "_pools is not an option: there are keyed_groups, namespace, plugin." in str(refused.value)
    assert "8 is not an option: there are" in str(refused.value)
