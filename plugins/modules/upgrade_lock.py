#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module upgrade_lock."""

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_lock
short_description: Let one run at a time work on a cluster
description:
  - Takes, checks and releases the lock of an upgrade. The other modules take the lock as their option C(lock). Each of
    them then renews it first, and stops without acting once another run holds it.
  - The lock is a Lease in the namespace of the pods. For runs on one cluster that share no namespace, the OpenSearch
    cluster itself can keep it, as a component template.
  - A holder is dead when its processes on this machine are gone, or when it did not renew the lock while it was watched
    for as long as the lock lasts. The clocks of the machines do not matter.
  - A second run is refused. The refusal names the holder of the lock, since when, and the remedy.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  state:
    description:
      - V(free) checks that no other living run holds the lock.
      - V(held) takes the lock, even from a dead run.
      - V(stopped) asks the run that holds the lock to stop after its current member, and waits until the lock is free.
      - V(awaited) waits until no living run holds the lock, and asks none to stop.
      - V(released) gives up the lock that O(lock) names, if it is still held.
    type: str
    required: true
    choices: [free, held, stopped, awaited, released]
  kept_in:
    description: The place of the lock - a Lease in O(namespace), or the OpenSearch cluster.
    type: str
    choices: [kubernetes, opensearch]
    default: kubernetes
  namespace:
    description: The namespace of the Lease. Needed with O(kept_in=kubernetes).
    type: str
  cluster_uuid:
    description: The UUID of the cluster, which names its lock. By default the cluster is asked for it.
    type: str
  lease_duration:
    description:
      - The time for which the lock lasts without being renewed. Each task of the run renews it repeatedly.
      - It has to be longer than any other task that runs between two tasks of this collection.
    type: int
    default: 60
  take_over:
    description:
      - Take the lock from this run, although it may still be active. Its processes stop before their next act.
      - A run whose controller is seen alive on this machine, outside other containers, keeps its lock until that
        process has ended.
    type: str
    default: ''
  holders:
    description: With O(state=stopped), the runs that are asked. A lock that another one holds is left alone. By default
      any run is asked.
    type: list
    elements: str
    default: []
  wait:
    description: Whether to watch a lock whose holder may be dead, and to wait for a run that was asked to stop.
  wait_timeout:
    description: Seconds to watch, and to wait.
    default: 300
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.task
notes:
  - "Kubernetes rights needed: C(get), C(create), C(patch), C(delete) of C(leases) in O(namespace)."
  - "OpenSearch permissions needed: C(cluster:monitor/state), to ask for O(cluster_uuid). With O(kept_in=opensearch)
    also C(cluster:admin/component_template/get), C(cluster:admin/component_template/put) and
    C(cluster:admin/component_template/delete)."
seealso:
  - module: stateful.upgrade.upgrade_record
"""

EXAMPLES = r"""
- name: Take the lock
  stateful.upgrade.upgrade_lock:
    state: held
    namespace: search
    opensearch:
      hosts: [https://search.example.com:9200]
  register: taken

- name: Restrict allocation only while this run holds the lock
  stateful.upgrade.shard_allocation:
    state: restricted
    lock: "{{ taken.lock }}"

- name: Give it up
  stateful.upgrade.upgrade_lock:
    state: released
    namespace: search
    lock: "{{ taken.lock }}"
"""

RETURN = r"""
changed:
  description: Whether the lock was (in check mode - would be) taken or given up, or a run asked to stop.
  returned: always
  type: bool
verdict:
  description: Whether the lock is as wanted. A remark names the run from which it may be taken over, and why.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
lock:
  description: The lock, for the option C(lock) of the other modules.
  returned: with O(state=held)
  type: dict
  sample:
    run: 20261121-020000-3f2a5b6c
    name: stateful-upgrade-0a1b2c3d4e
    kept_in: kubernetes
    namespace: search
    lease_duration: 60
name:
  description: The name of the lock, which the record of the same cluster has, too.
  returned: with O(state=free)
  type: str
  sample: stateful-upgrade-0a1b2c3d4e
before:
  description: The lock before, with its holder; C(run) is null if no one held it.
  returned: always
  type: dict
  sample: {run: null}
actions:
  description: Each act, with its time.
  returned: always
  type: list
  elements: dict
  sample:
    - {action: take_lock, target: stateful-upgrade-0a1b2c3d4e, at: '2026-11-21T02:00:00.000Z'}
waited:
  description: Each reason that was waited for, with its seconds.
  returned: always
  type: list
  elements: dict
next:
  description: The next step of a rolling upgrade.
  returned: always
  type: str
  sample: plan again, then act
"""

from ..module_utils.entry.entry import run_as_module
from ..module_utils.entry.guard import upgrade_lock as run
from ..module_utils.run.lock.upgrade_lock import CONTRACT


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
