# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory plugin members."""

from __future__ import annotations

DOCUMENTATION = r"""
name: members
short_description: The members of an OpenSearch cluster as hosts
version_added: 0.1.0
author: the stateful.upgrade authors (@stateful-upgrade)
description:
  - Gives each member of an OpenSearch cluster as a host, with its pool, zone, roles, version and shards as variables.
  - A group C(opensearch) has a group for each pool. There are groups C(role_…) and C(zone_…), and C(elected) for the
    elected manager.
  - The file of the inventory ends with C(members.yml) or C(members.yaml).
extends_documentation_fragment:
  - constructed
options:
  plugin:
    description: The name of this plugin.
    required: true
    choices: [stateful.upgrade.members]
  opensearch:
    description:
      - The connection to OpenSearch, with the suboptions of the modules, as
        O(stateful.upgrade.cluster_health_gate#module:opensearch).
      - Environment variables such as E(OPENSEARCH_HOSTS) are taken as there.
    type: dict
    default: {}
  kubernetes:
    description: The connection to Kubernetes, as O(stateful.upgrade.cluster_health_gate#module:kubernetes).
    type: dict
    default: {}
  namespace:
    description:
      - The namespace of the members' pods. Kubernetes is asked for their pools and Kubernetes nodes.
      - Leave it out if the members are no pods.
    type: str
  zone_attribute:
    description: The attribute of a member that names its zone.
    type: str
    default: zone
"""

EXAMPLES = r"""
# members.yml: ansible-inventory -i members.yml --graph
plugin: stateful.upgrade.members
namespace: search
opensearch:
  hosts: ["https://search.example.com:9200"]
keyed_groups:
  - key: member_version
    prefix: version
"""

from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable
from ansible.utils.unsafe_proxy import wrap_var

from ..module_utils.common.errors import Refusal
from ..module_utils.common.masking import masked
from ..module_utils.common.task import sentences
from ..module_utils.opensearch.member_list import CONTRACT, Listed, list_members
from ..plugin_utils.arguments_check import check_arguments
from ..plugin_utils.input_values import which_is_meant

ENDINGS = ("members.yml", "members.yaml")
CLUSTER = "opensearch"
ELECTED = "elected"


class InventoryModule(BaseInventoryPlugin, Constructable):  # type: ignore[misc]  # ansible-core has no type hints
    """See the documentation above."""

    NAME = "stateful.upgrade.members"

    def verify_file(self, path: str) -> bool:
        """Whether the file may be meant for this plugin."""
        return bool(super().verify_file(path)) and path.endswith(ENDINGS)

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Ask the cluster, and add its members.

        Raises:
            AnsibleParserError: an option is wrong, or the cluster cannot be seen.
        """
        super().parse(inventory, loader, path, cache)
        unknown = [name for name in self._read_config_data(path) if name not in self.option_definitions]
        if unknown:
            # Ansible itself ignores them, and the inventory would silently be another one.
            meant = [
                f"{name} is not an option: {which_is_meant(str(name), self.option_definitions)}" for name in unknown
            ]
            raise AnsibleParserError(f"{path}: {' '.join(meant)}")
        given = {name: self.get_option(name) for name in CONTRACT.argument_spec}
        checked = check_arguments(CONTRACT, self.NAME, {name: value for name, value in given.items() if value})
        if checked.error:
            raise AnsibleParserError(f"{path}: {checked.error}")
        try:
            members = list_members(checked.params)
        except Refusal as error:
            raise AnsibleParserError(str(masked(sentences(error.verdict), checked.secrets))) from None
        inventory.add_group(CLUSTER)
        for member in members:
            self._add(member)

    def _add(self, member: Listed) -> None:
        inventory, host = self.inventory, member.name
        inventory.add_host(host)
        for name, value in member.as_variables().items():
            # Before ansible-core 2.19, texts of an inventory are templates, and these come from the cluster.
            inventory.set_variable(host, name, wrap_var(list(value) if isinstance(value, tuple) else value))
        named = [f"role_{role}" for role in member.roles]
        named += [f"zone_{member.zone}"] if member.zone else []
        named += [ELECTED] if member.elected else []
        pool = self._group(member.pool) if member.pool else CLUSTER
        if pool != CLUSTER:
            inventory.add_child(CLUSTER, pool)
        for group in (pool, *(self._group(each) for each in named)):
            inventory.add_child(group, host)
        variables, strict = inventory.get_host(host).get_vars(), self.get_option("strict")
        self._set_composite_vars(self.get_option("compose"), variables, host, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), variables, host, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), variables, host, strict=strict)

    def _group(self, name: str) -> str:
        return str(self.inventory.add_group(self._sanitize_group_name(name)))
