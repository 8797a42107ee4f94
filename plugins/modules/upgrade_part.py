#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module upgrade_part."""

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_part
short_description: Carry out a part of a run
description:
  - The parts of a run that have no use outside of one. The roles of this collection call it. The run gives the options
    of each part from its variables, its plan and its results.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  part:
    description:
      - V(alert_silence) holds the silences of the upgrade, and V(prometheus_alerts) proves that no alert fires that
        stops the upgrade, as the modules of these names.
      - V(external_dependencies) proves that the registries, web servers, ports and names in C(upgrade_dependencies) are
        available, and V(kubernetes_nodes) that Kubernetes nodes are neither cordoned nor under pressure.
      - V(start_window) proves that the window for the start of the upgrade has not ended.
      - V(extra_member) gives a pool one member more for the time of the upgrade, and removes it.
      - V(emptied_nodes) cordons and drains the Kubernetes nodes of a batch, and lets them take pods again.
      - V(cluster_snapshot) takes a snapshot of OpenSearch or Elasticsearch before the first batch, and proves it.
      - V(raised_replicas) gives indices without a replica one for the time of the run, and waits until it is started.
      - V(grown_volumes) makes volume claims larger, follows them until their file systems have grown, and makes their
        StatefulSets again, whose pods stay.
      - V(health_figures) measures the health of the cluster before the first batch, and compares it after others.
      - V(image_checks) removes the throw-away pods with which a killed run has proven that images can be pulled, and
        V(longhorn_image_checks) those of Longhorn.
      - V(file_integrity) asks the File Integrity Operator of OpenShift to make its baseline again.
      - V(kubeadm) carries out a step of the role C(stateful.upgrade.member_kubeadm) on a machine, by Ansible's modules,
        V(os_image) one of C(stateful.upgrade.member_os_image), and V(service) one of
        C(stateful.upgrade.member_service) on the host of a member.
      - V(canary_soak) waits until a batch, or the cluster of a fleet that went first, has proven itself.
      - V(upgrade_request) reads the request of the upgrade, and notes its state; V(upgrade_notice) sends a state of the
        upgrade to a webhook once.
      - V(system) is the module that plans, begins and ends the runs of the system (C(upgrade_system)), such as
        M(stateful.upgrade.upgrade_plan), with all its options and results. For a system of another collection that is
        its module with the name of the role, whose options get the variables of their names.
      - V(tell) shows lines, or the end of the run, as plain text.
      - V(fleet_plan) arranges the clusters of a fleet in waves, and V(cluster_upgrade) plans or upgrades one of them in
        a process of its own.
    type: str
    required: true
    choices:
      - alert_silence
      - canary_soak
      - cluster_snapshot
      - cluster_upgrade
      - emptied_nodes
      - external_dependencies
      - extra_member
      - file_integrity
      - fleet_plan
      - grown_volumes
      - health_figures
      - image_checks
      - kubeadm
      - kubernetes_nodes
      - longhorn_image_checks
      - os_image
      - prometheus_alerts
      - raised_replicas
      - service
      - start_window
      - system
      - tell
      - upgrade_notice
      - upgrade_request
attributes:
  check_mode:
    description: Looks and judges as in a run, and changes nothing.
    support: full
  diff_mode:
    description: The changes of V(extra_member) are shown; no other part has any to show.
    support: full
  idempotent:
    description: A part that is done already changes nothing.
    support: full
seealso:
  - module: stateful.upgrade.upgrade_plan
"""

EXAMPLES = r"""
- name: Prove that the Kubernetes nodes are fit
  stateful.upgrade.upgrade_part:
    part: kubernetes_nodes
"""

RETURN = r"""
changed:
  description: Whether the part has changed something.
  returned: always
  type: bool
verdict:
  description: The verdict.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
before:
  description: The things that were changed, as they were before.
  returned: always
  type: dict
actions:
  description: The changes in their order.
  returned: always
  type: list
  elements: dict
waited:
  description: Each reason that was waited for, with its seconds.
  returned: always
  type: list
  elements: dict
next:
  description: Always empty - the role knows the part that follows.
  returned: always
  type: str
  sample: ''
"""

from ansible.module_utils import basic

from ..module_utils.entry.entry import run_as_module
from ..module_utils.entry.parts import NAMELESS, part_of

CONTRACT = NAMELESS.CONTRACT
run = NAMELESS.run


def main() -> None:
    """Run the part that the task names. Without any arguments, as for documentation, it is none."""
    part = part_of(basic._load_params()) if basic._ANSIBLE_ARGS is not None else NAMELESS
    run_as_module(part.CONTRACT, part.run)


if __name__ == "__main__":
    main()
