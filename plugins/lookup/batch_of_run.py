# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup batch_of_run."""

from __future__ import annotations

DOCUMENTATION = r"""
name: batch_of_run
short_description: Judge the batch of this host from the results of its tasks so far
description:
  - Judges a batch that is under way, for the role C(stateful.upgrade.roll) and the role of a system. It counts the
    results of all tasks of the host that are registered under a name that begins with C(roll_).
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description: Nothing.
    type: list
    elements: str
"""

EXAMPLES = r"""
- name: Show for what the batch waits
  ansible.builtin.debug:
    msg: "{{ lookup('stateful.upgrade.batch_of_run').held_up | map(attribute='message') }}"
"""

RETURN = r"""
_raw:
  description:
    - C(held_up) has the reasons for which nothing more of the batch is done in this pass, and C(upgraded) is whether
      another user or tool has upgraded it already.
    - C(members) has the outcome of each member, and C(seconds_left) the seconds in which a further one may go down.
    - C(own_moment), C(own_variable) and C(own_files) are those of the user's own tasks before the batch.
    - C(first_parts) and C(last_parts) are the task files of the role C(stateful.upgrade.roll) before the batch goes
      down and at its end, and C(parts) all of them.
    - For members on hosts of the inventory, C(started) are those on whose hosts all has succeeded, and C(troubles)
      has a sentence for each other host.
    - C(gate) has the options of its gate.
  type: list
  elements: dict
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.plugins.lookup import LookupBase

from ..plugin_utils.batch_of_run import batch_of_run, parts_of_host

NONE: Mapping[str, Any] = {"held_up": [], "first_parts": [], "last_parts": [], "upgraded": False}
"""For a host that is no batch, such as that of a member."""


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible-core has no type hints for plugins
    """See the documentation above."""

    def run(
        self, terms: Sequence[str], variables: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[Mapping[str, Any]]:
        """The batch."""
        defined = variables or {}

        def given(name: str) -> Any:
            return self._templar.template(defined[name]) if name in defined else None

        batch = batch_of_run(defined, given)
        return [{**(NONE if batch is None else batch.as_result()), "parts": parts_of_host(defined, given)}]
