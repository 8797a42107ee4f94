# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup failed_task."""

from __future__ import annotations

DOCUMENTATION = r"""
name: failed_task
short_description: Give the failure of the task for which a rescue runs
description:
  - Gives the name of the task that has failed, its message, and the codes of its reasons. The result of a task with
    C(no_log) may hold a secret, which ansible-core hides only where it prints, so its message is left out.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description: The code of a failure that has none of its own, such as that of a module of another collection.
    type: list
    elements: str
"""

EXAMPLES = r"""
- name: Keep the failure
  ansible.builtin.set_fact:
    my_failure: "{{ lookup('stateful.upgrade.failed_task', 'backup_failed') }}"
"""

RETURN = r"""
_raw:
  description:
    - The C(task), its C(message), the C(codes) of its reasons, and whether it failed since a host or a server gave no
      answer (C(unreachable)).
  type: list
  elements: dict
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.plugins.lookup import LookupBase

from ..module_utils.run.failure import failure_of
from ..plugin_utils.run_options import FAILED_TASK, given_by


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible-core has no type hints for plugins
    """See the documentation above."""

    def run(
        self, terms: Sequence[str], variables: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """The failure."""
        given = given_by(self._templar, variables or {})
        task, result = (given(name) or {} for name in (FAILED_TASK, "ansible_failed_result"))
        return [failure_of(task, result, list(terms)).as_result()]
