#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module extra_machines."""

from __future__ import annotations

DOCUMENTATION = r"""
module: extra_machines
short_description: Give MachineDeployments more machines while an upgrade lasts
description:
  - Gives MachineDeployments of Cluster API more machines, and waits until all of their machines are Ready. The undo is
    written into the MachineDeployment with the same request (annotation C(upgrade.stateful/undo)).
  - Removes exactly as many machines afterwards. Machines on whose Kubernetes node a pod of a StatefulSet of
    O(namespace) runs are never chosen. The others are marked with the annotation C(cluster.x-k8s.io/delete-machine),
    and only then the number of machines is lowered. Cluster API drains and deletes the marked ones.
  - A machine also counts as free if pods of other namespaces run on it. Cluster API drains it.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  machine_deployments:
    description: The MachineDeployments. An empty list asks for nothing.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: The name of the MachineDeployment.
        type: str
        required: true
      namespace:
        description: Its namespace in the management cluster.
        type: str
        required: true
      extra:
        description:
          - The machines that it gets in addition to those that it has.
          - This is only looked at if it carries no undo, and not with O(state=absent). One that carries an undo has
            its extra machines already.
        type: int
        default: 1
  state:
    description:
      - With V(present), each MachineDeployment has its extra machines. Nothing is changed if one of them cannot have
        them.
      - With V(planned), nothing is changed. The verdict says whether each MachineDeployment can have them.
      - With V(absent), the extra machines of each MachineDeployment go. One without an undo is left as it is. A number
        of machines that something else has changed since is left, too, and only the undo goes.
    type: str
    default: present
    choices: [present, planned, absent]
  take_over:
    description:
      - The name of a run that is certainly dead, although its lock cannot be read. Its extra machines are then taken
        for those of this task.
    type: str
    default: ''
attributes:
  check_mode:
    support: full
    details: Nothing is waited for.
  diff_mode:
    support: full
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.task
  - stateful.upgrade.task.namespace
  - stateful.upgrade.machines
notes:
  - "Kubernetes rights needed in the namespace of the MachineDeployments: C(get) and C(patch) of
    C(machinedeployments.cluster.x-k8s.io), and C(list) and C(patch) of C(machines.cluster.x-k8s.io). In O(namespace):
    C(list) of C(pods)."
  - The versions V(v1beta1) and V(v1beta2) of the API are known. The one that the management cluster prefers is asked
    for.
  - A tool that keeps the number of machines in Git would put it back. It has to leave C(spec.replicas) alone.
seealso:
  - module: stateful.upgrade.upgrade_plan
"""

EXAMPLES = r"""
- name: Have one more worker in each zone while the upgrade lasts
  stateful.upgrade.extra_machines:
    namespace: search
    management: {context: management}
    machine_deployments:
      - {name: workers-a, namespace: clusters}
      - {name: workers-b, namespace: clusters}

- name: Remove them again
  stateful.upgrade.extra_machines:
    namespace: search
    management: {context: management}
    machine_deployments:
      - {name: workers-a, namespace: clusters}
      - {name: workers-b, namespace: clusters}
    state: absent
"""

RETURN = r"""
changed:
  description: Whether a MachineDeployment or a machine was changed; in check mode, whether one would be.
  returned: always
  type: bool
verdict:
  description: The verdict, with a reason for each problem and each wait.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
before:
  description: The number of machines that each MachineDeployment was to have, by its namespace and name.
  returned: always
  type: dict
  sample: {replicas: {clusters/workers-a: 3}}
leaving:
  description: The machines that were chosen to go, which this task has had deleted.
  returned: when all were seen
  type: list
  elements: str
actions:
  description:
    - Each act with its time - V(add_machines), V(adopt_machines), V(remove_machines) and V(remove_undo) with the
      MachineDeployment, V(mark_machine) and V(unmark_machine) with the machine.
  returned: always
  type: list
  elements: dict
  sample: [{action: add_machines, target: clusters/workers-a, replicas: 4, at: '2026-11-21T02:00:00.000Z'}]
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
from ..module_utils.extra_machines.extra_machines import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
