#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module kubernetes_nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_nodes
short_description: Prove that Kubernetes nodes are fit
description:
  - Waits until no Kubernetes node of a selector is cordoned, not Ready, unreachable, or under pressure of memory, disk
    or process ids, as its taints tell. All that are unfit are named.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  label_selector:
    description: The labels of the Kubernetes nodes; by default all of them.
    type: str
  baseline:
    description:
      - A moment with its offset from UTC, as V(2026-12-01T22:00:00Z). A node that has been unfit in the same way since
        before it stops nothing.
    type: str
  wait:
    description: Whether to wait until all are fit.
  wait_timeout:
    description: Seconds to wait.
    default: 300
  wait_sleep:
    description: Seconds between two looks.
    default: 5.0
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    description: Nothing is changed.
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.task
notes:
  - "Kubernetes rights needed: C(list) of C(nodes), in a ClusterRole."
seealso:
  - module: stateful.upgrade.prometheus_alerts
"""

EXAMPLES = r"""
- name: See that the workers are fit
  stateful.upgrade.kubernetes_nodes:
    label_selector: node-role.kubernetes.io/worker
"""

RETURN = r"""
changed:
  description: Always false.
  returned: always
  type: bool
verdict:
  description: The verdict, with a reason for each trouble of a Kubernetes node.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
unfit:
  description: The Kubernetes nodes that are unfit, also those that stop nothing.
  returned: when all were seen
  type: list
  elements: str
before:
  description: Always empty.
  returned: always
  type: dict
actions:
  description: Always empty - nothing is changed.
  returned: always
  type: list
  elements: dict
waited:
  description: Each reason that was waited for, with its seconds.
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
from ..module_utils.kubernetes.kubernetes_nodes import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
