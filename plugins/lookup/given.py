# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup given."""

from __future__ import annotations

DOCUMENTATION = r"""
name: given
short_description: Give the options of a module for which the user has set a variable
description:
  - Gives a dictionary of options for C(module_defaults). An option is in it if its variable is defined, and is left out
    otherwise, so that the module's own default holds. An empty dictionary counts as a variable that is not defined, and
    so do an empty text and null, as surveys give them for a question without an answer.
  - The variable of an option is called C(upgrade_) and the option's name, unless another name is given.
  - An option that is a list may be given as a text with commas.
  - The options C(kubernetes) and C(opensearch) hold also what is given with variables such as
    C(upgrade_opensearch_hosts), one for each option of the connection.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description: The names of options. To give the name of the variable, too, write it as C(option=variable).
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Plan
  stateful.upgrade.upgrade_plan:
    target_version: 3.8.0
  module_defaults:
    group/stateful.upgrade.all: "{{ lookup('stateful.upgrade.given', 'kubernetes', 'opensearch', 'lock=begin_lock') }}"
    stateful.upgrade.upgrade_plan: "{{ lookup('stateful.upgrade.given', 'namespace', 'pools') }}"
"""

RETURN = r"""
_raw:
  description: One dictionary with the value of each option whose variable is defined.
  type: list
  elements: dict
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.plugins.lookup import LookupBase

from ..plugin_utils.connection_inputs import CONNECTIONS, NAMESPACE, is_list, listed, merged, parts_of, unanswered
from ..plugin_utils.variables import PREFIX


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible-core has no type hints for plugins
    """See the documentation above."""

    def run(
        self, terms: Sequence[str], variables: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """The options."""
        defined, options = variables or {}, {}
        for term in terms:
            option, _equals, variable = str(term).partition("=")
            name = variable or f"{PREFIX}{option}"
            value = (
                self._connection(name, defined) if name in CONNECTIONS else self._templated((name,), defined).get(name)
            )
            if name in defined or value:
                options[option] = listed(value) if is_list(name) else value
        return [{option: value for option, value in options.items() if value != {} and not unanswered(value)}]

    def _connection(self, name: str, defined: Mapping[str, Any]) -> Any:
        return merged(name, self._templated((name, NAMESPACE, *parts_of(name)), defined))

    def _templated(self, names: Sequence[str], defined: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._templar.template(defined[name]) for name in names if name in defined}
