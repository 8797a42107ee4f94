#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module tell."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tell
short_description: Show lines, or the end of a run, as plain text
description:
  - Prints the lines as they are, line by line, whatever the output plugin is, and returns them. Nothing is asked and
    nothing is changed.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  deed:
    description: The deed that the end is about.
    type: str
    choices: [upgrade, restart]
    default: upgrade
  lines:
    description: The lines themselves.
    type: list
    elements: str
  ending:
    description: The facts of the end of a run.
    type: dict
    suboptions:
      target_version:
        description: The version that was upgraded to.
        type: str
        required: true
      failures:
        description: The sentences of everything that has failed. Without any the run has succeeded, or waits.
        type: list
        elements: str
        default: []
      failed:
        description: Whether a batch was stopped.
        type: bool
        default: false
      aborted:
        description: Whether the run has ended since a person has asked it to stop.
        type: bool
        default: false
      not_put_back:
        description: Whether a change of the run could not be put back.
        type: bool
        default: false
      put_back:
        description: The sentence about the changes that were put back after a failure.
        type: str
        default: ''
      waiting:
        description: The reasons that a pass ended with.
        type: list
        elements: dict
        default: []
      waiting_lead:
        description: The sentence before these reasons.
        type: str
        default: ''
      planned:
        description: Whether there was anything to do.
        type: bool
        default: true
      found:
        description: The words for the cluster as the last gate has found it.
        type: str
        default: ''
      record:
        description: The record of the upgrade.
        type: dict
        default: {}
      record_name:
        description: The name of the record.
        type: str
        default: ''
      took:
        description: The outcomes of the members of this run. The record tells them if there is one.
        type: list
        elements: dict
        default: []
      outdated:
        description:
          - The members that ran the target version when this run was planned, and were to be replaced for a changed
            template. The record tells those of earlier runs.
        type: list
        elements: str
        default: []
      remarks:
        description: Remarks to be shown.
        type: list
        elements: dict
        default: []
      last_words:
        description: The message with which the task fails after the lines. Without it the task succeeds.
        type: str
        default: ''
  unit:
    description: The word for what is upgraded.
    type: str
    default: member
attributes:
  check_mode:
    description: Shows the same; the end of a run says that it was only checked.
    support: full
  diff_mode:
    description: Nothing is changed.
    support: none
  idempotent:
    description: Nothing is changed.
    support: full
seealso:
  - module: stateful.upgrade.upgrade_plan
"""

EXAMPLES = r"""
- name: Show what is waited for
  stateful.upgrade.tell:
    lines: ['Nothing was done in this pass. Waiting:', data-2 is starting.]
"""

RETURN = r"""
lines:
  description: The lines that were shown.
  returned: always
  type: list
  elements: str
  sample:
    - 'Nothing was done in this pass. Waiting:'
changed:
  description: Always false.
  returned: always
  type: bool
verdict:
  description: Always passed.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
before:
  description: Always empty.
  returned: always
  type: dict
  sample: {}
actions:
  description: Always empty.
  returned: always
  type: list
  elements: dict
waited:
  description: Always empty.
  returned: always
  type: list
  elements: dict
next:
  description: Always empty - no step follows.
  returned: always
  type: str
  sample: ''
"""

from ..module_utils.entry.entry import run_as_module
from ..module_utils.run.output.tell import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
