# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option that binds a task to its run; its specification is `LOCK` in module_utils/common/arguments."""

from __future__ import annotations


class ModuleDocFragment:
    """The option `lock`."""

    DOCUMENTATION = r"""
options:
  lock:
    description:
      - The lock of the run that the task belongs to, as M(stateful.upgrade.upgrade_lock) returns it.
      - The task renews the lock first. It stops without acting once another run holds the lock, and between members
        once somebody has asked the run to stop.
      - Without this option the task belongs to no run, and heeds no lock.
    type: dict
    suboptions:
      run:
        description: The run.
        type: str
        required: true
      name:
        description: The name of the lock.
        type: str
        required: true
      kept_in:
        description:
          - The place of the lock - a Lease in a namespace, or the OpenSearch cluster itself.
          - For a lock in the cluster the task needs the OpenSearch permissions
            C(cluster:admin/component_template/get) and C(cluster:admin/component_template/put).
        type: str
        choices: [kubernetes, opensearch]
        default: kubernetes
      namespace:
        description: The namespace of the Lease.
        type: str
      lease_duration:
        description: The time for which it lasts without being renewed.
        type: int
        default: 60
"""
