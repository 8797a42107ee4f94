# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup cluster_variables."""

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_variables
short_description: The variables of a host that are for the upgrade of its cluster
description:
  - Gives those variables of the host that a playbook of this collection takes, for a process of its own. Secrets are
    kept apart from the others.
  - The variables of the fleet itself are left out. Any other name with C(upgrade_) is handed on, so that the playbook
    refuses one that is misspelt.
  - The templates of C(upgrade_webhook_body) are not filled in, since they are about a notice of that playbook.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description: The name of the playbook, without the collection.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Show the variables of a cluster
  ansible.builtin.debug:
    msg: "{{ lookup('stateful.upgrade.cluster_variables', 'opensearch').variables }}"
"""

RETURN = r"""
_raw:
  description: The C(variables) and the C(secrets), each by name.
  type: list
  elements: dict
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.plugins.lookup import LookupBase

from ..module_utils.fleet.given_values import FILLED_IN_LATER
from ..plugin_utils.arguments_check import plain
from ..plugin_utils.connection_inputs import CONNECTIONS, NAMESPACE, merged, parts_of, unanswered
from ..plugin_utils.inputs import SYSTEM, made_by_runs, options_of, results
from ..plugin_utils.variables import PLAYBOOKS, PREFIX
from .input_faults import specified

FLEET = f"{PREFIX}fleet_"
OF_THE_FLEET = frozenset({f"{PREFIX}confirm", SYSTEM})
"""Variables that the fleet gives to each cluster itself."""


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible-core has no type hints for plugins
    """See the documentation above."""

    def run(self, terms: Sequence[str], variables: Mapping[str, Any] | None = None, **kwargs: Any) -> list[Any]:
        """The variables for each playbook."""
        return [self._of(str(playbook), variables or {}) for playbook in terms]

    def _of(self, playbook: str, defined: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        options = options_of(playbook, specified(f"stateful.upgrade.{PLAYBOOKS[playbook].role}"))
        own = {name for name in defined if name.startswith(PREFIX) and not name.startswith(FLEET)}
        names = own.union(options.keys() & defined.keys()) - OF_THE_FLEET - made_by_runs() - results()
        given = {name: self._filled_in(name, defined[name]) for name in names}
        flat = {**given}
        for connection in CONNECTIONS.keys() & given.keys():
            flat.pop(connection)
            flat.update(_flat(connection, {**given, NAMESPACE: None}))
        secret = {name for name in flat if options.get(name, {}).get("no_log")}
        answered = {name: value for name, value in flat.items() if not unanswered(value)}
        return {
            "variables": {name: value for name, value in answered.items() if name not in secret},
            "secrets": {name: value for name, value in answered.items() if name in secret},
        }

    def _filled_in(self, name: str, value: Any) -> Any:
        """The value with its templates filled in. Those that the run of the cluster fills in are left as texts."""
        return plain(value) if name in FILLED_IN_LATER else self._templar.template(value)


def _flat(connection: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a connection as variables of their own, since some of them alone are secrets."""
    whole, found = merged(connection, given), {}
    if not isinstance(whole, Mapping):
        return {connection: whole}
    for name, part in parts_of(connection).items():
        value: Any = whole
        for step in part.path:
            value = value.get(step) if isinstance(value, Mapping) else None
        if value is not None:
            found[name] = value
    return found
