# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup inputs_of_run."""

from __future__ import annotations

DOCUMENTATION = r"""
name: inputs_of_run
short_description: Check the variables of a playbook of this collection, and those of its request
description:
  - Gives what the first task of a playbook of this collection does, from its variables.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _terms:
    description:
      - The name of the playbook, without the collection, and one of these questions.
      - V(parts) gives the task files that are due. There is none if nothing is wrong and no request is to be read.
      - V(request) gives the request for the tasks of the run, once it is read.
      - V(refusal) gives the end of a run that is refused. These are its C(statistics), its C(message), and whether the
        request is to be C(noted) as invalid, or its record to be removed since it was C(withdrawn).
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Show whether the variables of a run are refused, or a request is read first
  ansible.builtin.debug:
    msg: "{{ query('stateful.upgrade.inputs_of_run', 'opensearch', 'parts') }}"
"""

RETURN = r"""
_raw:
  description: The answer.
  type: list
  elements: raw
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..plugin_utils.answering import Answering
from ..plugin_utils.inputs_of_run import InputsOfRun
from ..plugin_utils.run_options import GivenVariables, answers
from .input_faults import LookupModule as InputFaults


class LookupModule(Answering):
    """See the documentation above."""

    def answered(self, terms: Sequence[Any], given: GivenVariables, variables: Mapping[str, Any]) -> list[Any]:
        """The answer."""
        playbook, question = terms

        def faults_of(request: Mapping[str, Any]) -> list[str]:
            return InputFaults(self._loader, self._templar).run([playbook], variables, request=request)

        inputs = InputsOfRun(playbook, given, faults_of)
        asked = {each.__name__: each for each in (inputs.parts, inputs.request, inputs.refusal)}
        return answers(asked[question]())
