# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup whole_run."""

from __future__ import annotations

DOCUMENTATION = r"""
name: whole_run
short_description: Refuse options of ansible-playbook that would skip parts of a run
description:
  - Gives back its argument, unless ansible-playbook was called with C(--limit), C(--tags), C(--skip-tags),
    C(--start-at-task) or C(--step). Then it fails and names all of them.
  - With those options Ansible skips hosts or tasks silently, often with exit code 0. Then a member could go down
    without its proof, or nothing could be put back.
  - It is written around the C(hosts) of the first play. So it runs before any task of the playbook, and is not skipped.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description: The value to give back, such as the hosts of a play.
    type: list
    elements: str
    required: true
  limit:
    description: Whether C(--limit) may be given, since each host is upgraded by itself.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Begin
  hosts: "{{ lookup('stateful.upgrade.whole_run', 'localhost') }}"
  tasks: []
"""

RETURN = r"""
_raw:
  description: The value that was given.
  type: list
  elements: str
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible import context
from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

ALL_TASKS = "all"
"""The tag that runs every task. Ansible itself gives it if the user gives none."""


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible-core has no type hints for plugins
    """See the documentation above."""

    def run(self, terms: Sequence[str], variables: Mapping[str, Any] | None = None, **kwargs: Any) -> list[str]:
        """The terms.

        Raises:
            AnsibleLookupError: an option would skip parts of the run.
        """
        self.set_options(var_options=variables, direct=kwargs)
        given = dict(context.CLIARGS)
        found = skipping_options({**given, "subset": None} if self.get_option("limit") else given)
        if found:
            raise AnsibleLookupError(
                f"Not supported: {' '.join(found)}. Parts of the upgrade would be skipped silently."
                " To upgrade only some members name them in upgrade_members; to see the plan alone use --check."
            )
        return list(terms)


def skipping_options(arguments: Mapping[str, Any]) -> list[str]:
    """The given options of ansible-playbook that would skip hosts or tasks, in their written form."""
    tags = [tag for tag in arguments.get("tags") or () if tag != ALL_TASKS]
    values = {
        "--limit": arguments.get("subset"),
        "--tags": ",".join(tags),
        "--skip-tags": ",".join(arguments.get("skip_tags") or ()),
        "--start-at-task": arguments.get("start_at_task"),
    }
    found = [f"{option} {value}" for option, value in values.items() if value]
    return [*found, *(["--step"] if arguments.get("step") else [])]
