# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup input_faults."""

from __future__ import annotations

DOCUMENTATION = r"""
name: input_faults
short_description: Find the faults in the variables of a playbook of this collection
description:
  - Gives one sentence for each fault. A fault is a variable that the playbook needs and does not have, one that begins
    with C(upgrade_) and is unknown to the playbook, or one with a wrong type, a number out of range or an impossible
    value. A file of tasks that is not there, or that Ansible cannot read, is one too, as is a group that the inventory
    does not have, or a role of the members that is not installed.
  - The playbooks use it before anything else, and fail with all the sentences at once. Ansible itself would ignore a
    variable whose name is misspelt.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description: The name of the playbook, without the collection.
    type: list
    elements: str
    required: true
  request:
    description:
      - The C(request) that the run has read. Its variables count as given, and its own
        faults are named too.
    type: dict
"""

EXAMPLES = r"""
- name: Refuse variables that are unknown or wrong
  ansible.builtin.fail:
    msg: "{{ faults | join(' ') }}"
  vars:
    faults: "{{ query('stateful.upgrade.input_faults', 'opensearch') }}"
  when: faults | length > 0
"""

RETURN = r"""
_raw:
  description: One sentence for each fault. The list is empty if nothing is wrong.
  type: list
  elements: str
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError, AnsibleLookupError
from ansible.module_utils.common.yaml import yaml_load  # with the parser in C, where there is one
from ansible.playbook.role.definition import RoleDefinition
from ansible.plugins.lookup import LookupBase
from ansible.utils.vars import load_extra_vars

from ..module_utils.common.words import unique
from ..module_utils.run.steps import faults_of_steps, faults_of_steps_asked_for
from ..plugin_utils.approval_inputs import faults_of_approvals
from ..plugin_utils.connection_inputs import listed
from ..plugin_utils.input_values import which_is_meant
from ..plugin_utils.inputs import (
    GROUPS,
    OPENSEARCH_ROLE,
    SYSTEM,
    Options,
    faults,
    faults_of_groups,
    faults_of_hosts,
    options_of,
)
from ..plugin_utils.monitoring_inputs import faults_of_monitoring
from ..plugin_utils.requested import faults_of_request
from ..plugin_utils.task_files import STEPS, faults_of_task_files, steps_in
from ..plugin_utils.variables import EVERY, FLEET, MEMBER_ROLE, PLAYBOOKS, PREFIX, SERVING, of_every_system, taken_by

OWN = "stateful.upgrade."
"""The collection whose roles say in full what they take, but for the variables of every run."""


class LookupModule(LookupBase):  # type: ignore[misc]  # ansible-core has no type hints for plugins
    """See the documentation above."""

    def run(self, terms: Sequence[str], variables: Mapping[str, Any] | None = None, **kwargs: Any) -> list[str]:
        """The sentences."""
        if list(terms) == [FLEET]:
            return self._of_fleet(dict(variables or {}))
        own, request = dict(variables or {}), kwargs.get("request") or {"variables": {}}
        all_variables = {**request["variables"], **own}
        system = str(self._templar.template(all_variables.get(SYSTEM, OPENSEARCH_ROLE)))
        try:
            entries = specified(system)
        except AnsibleLookupError as error:
            return [str(error)]
        found: list[str] = []
        for playbook in terms:
            takes = options_of(str(playbook), entries)
            given, undecided = self._decided(all_variables, takes)
            if "faults" in request:
                run = {name: value for name, value in given.items() if name in own}
                found += faults_of_request(request, str(playbook), system.rpartition(".")[2], takes, run)
            extra = load_extra_vars(self._loader)
            found += faults(str(playbook), given, extra, entries, undecided, request["variables"])
            if playbook not in SERVING:
                known = {name: given[name] for name in takes.keys() & given.keys() - set(undecided)}
                steps = steps_in(known.get(STEPS))
                found += [*faults_of_steps(steps), *faults_of_steps_asked_for(steps, known)]
                found += faults_of_monitoring(known)
                found += faults_of_approvals(known)
                found += faults_of_task_files(known, self._loader)
                found += self._of_hosts(known, all_variables)
            if playbook in PLAYBOOKS and PLAYBOOKS[playbook].hosts and not found:
                found += faults_of_hosts(str(playbook), _names_on_hosts(given), entries)
        return found

    def _of_hosts(self, known: Mapping[str, Any], variables: Mapping[str, Any]) -> list[str]:
        """The groups that the inventory does not have, and a role of the members that Ansible does not find.

        If the role were missing on all hosts, Ansible would end the playbook with exit code 0.
        """
        groups = listed(known.get(GROUPS)) or []
        found = faults_of_groups([str(each) for each in groups], variables.get("groups", {}))
        role = str(known.get(MEMBER_ROLE) or "")
        if role and not self._has_role(role):
            found.append(f"{MEMBER_ROLE} names {role}, and no such role is installed: correct the name, or install it.")
        return found

    def _has_role(self, name: str) -> bool:
        """Whether the include of a role finds it, by the search of Ansible itself."""
        try:
            RoleDefinition(loader=self._loader, collection_list=[OWN.rstrip(".")]).preprocess_data(name)
        except AnsibleError:
            return False
        return True

    def _of_fleet(self, variables: Mapping[str, Any]) -> list[str]:
        """The faults in the variables of a fleet. Those of its clusters are in the plan of each."""
        entries = _entries(f"stateful.upgrade.{FLEET}")
        own = {name: value for name, value in variables.items() if name.startswith(f"{PREFIX}{FLEET}_")}
        given, undecided = self._decided(own, entries["main"])
        found = faults(FLEET, given, load_extra_vars(self._loader), entries, undecided)
        known = {name: value for name, value in given.items() if name not in undecided}
        return [*found, *faults_of_task_files(known, self._loader)]

    def _decided(self, variables: Mapping[str, Any], options: Options) -> tuple[dict[str, Any], list[str]]:
        """The variables with the values of those that are options, and the names of those that have none yet."""
        given, undecided = dict(variables), []
        for name in options.keys() & variables.keys():
            try:
                given[name] = self._templar.template(variables[name])
            except AnsibleError:
                undecided.append(name)
        return given, undecided


def specified(role: str = OPENSEARCH_ROLE) -> dict[str, Options]:
    """The options of each entry point of the role of a system, with those that every system takes.

    Raises:
        AnsibleLookupError: there is no such role, or it does not say what it takes.
    """
    shared = taken_by(EVERY) if role.startswith(OWN) else of_every_system()
    return {
        entry: {
            **{each.name: each.option for each in shared if not each.goes_with or {*each.goes_with} & options.keys()},
            **options,
        }
        for entry, options in _entries(role).items()
    }


@cache
def _entries(role: str) -> dict[str, Options]:
    collection, _dot, name = role.rpartition(".")
    try:
        places = list(import_module(f"ansible_collections.{collection}").__path__)
        text = Path(places[0], "roles", name, "meta", "argument_specs.yml").read_text(encoding="utf-8")
    except (ImportError, OSError):
        systems = [f"{OWN}{name}" for name in unique(each.role for each in PLAYBOOKS.values()) if name != FLEET]
        said = f"{SYSTEM} is {role}, and no such role with an argument specification is installed"
        raise AnsibleLookupError(f"{said}: {which_is_meant(role, systems)}") from None
    return {entry: said["options"] for entry, said in yaml_load(text)["argument_specs"].items()}


def _names_on_hosts(variables: Mapping[str, Any]) -> dict[str, list[str]]:
    """The names of the variables with the prefix, by host of a member."""
    groups, hostvars = variables.get("groups", {}), variables["hostvars"]
    hosts = dict.fromkeys(host for group in listed(variables[f"{PREFIX}groups"]) for host in groups.get(group, ()))
    return {host: [name for name in hostvars.raw_get(host) if name.startswith(PREFIX)] for host in hosts}
