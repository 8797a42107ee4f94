#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module pool_order."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pool_order
short_description: Plan the rolling upgrade of an OpenSearch cluster
description:
  - Joins the StatefulSets of a namespace, or the named hosts, with the roles and versions that the members report,
    checks everything that can be checked beforehand, and gives the ordered pools and batches, each with its reason and
    its proof.
  - The order is data without manager, then data with manager, then the rest. Inside a pool a member that is not in the
    cluster comes first and the elected manager last. The others go by their ordinals, the highest first.
  - A pool's kind comes from the roles that its members report, not from labels.
  - All problems are named at once.
  - Nothing is changed.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  wait_timeout:
    description: Seconds to wait while OpenSearch or the Kubernetes API does not answer.
    default: 120
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: The difference shows the version of each member before and after.
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.task
  - stateful.upgrade.opensearch.plan
  - stateful.upgrade.opensearch.upgrade
  - stateful.upgrade.opensearch.consent
notes:
  - "OpenSearch permissions needed: C(cluster:monitor/state), C(cluster:monitor/nodes/info)."
  - "Kubernetes rights needed: those of the whole upgrade are asked for and each missing one is named."
seealso:
  - module: stateful.upgrade.cluster_health_gate
  - module: stateful.upgrade.pod_ondelete_roll
"""

EXAMPLES = r"""
- name: Plan the upgrade to 3.8.0
  stateful.upgrade.pool_order:
    namespace: search
    opensearch:
      hosts: [https://search.example.com:9200]
    target_version: 3.8.0
  register: plan

- name: Plan for members on plain hosts
  stateful.upgrade.pool_order:
    groups:
      data: [data-0, data-1, data-2]
      managers: [manager-0, manager-1, manager-2]
    target_version: 3.8.0

- name: Show the order
  ansible.builtin.debug:
    msg: "{{ plan.batches | map(attribute='members') | flatten }}"
"""

RETURN = r"""
verdict:
  description: Whether the upgrade may begin, with all refusals at once.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
before:
  description:
    - The version of each member, null for one that is not in the cluster. If the member runs the target version, and
      its pod is of an older template, C(template changed) follows in brackets.
  returned: always
  type: dict
  sample: {data-0: 2.19.6, data-1: 2.19.6}
target_version:
  description: The version that is upgraded to.
  returned: success
  type: str
  sample: 3.8.0
cluster_uuid:
  description: The UUID of the cluster.
  returned: success
  type: str
  sample: Yq1Zp4oQSOu5mM0r9bJ2Mg
cluster_name:
  description: The name of the cluster.
  returned: success
  type: str
  sample: search
product:
  description: The server that the members run, C(OpenSearch) or C(Elasticsearch).
  type: str
  returned: success
deployed_version:
  description: The lowest version that a member of the pools runs; it advances only when all pools are done.
  returned: success
  type: str
  sample: 2.19.6
pools:
  description:
    - The pools in order. Their C(status) is V(pending), V(upgrading) or V(upgraded), as none, some or all of their
      members are on the target version, and on the template of the pool.
  returned: success
  type: list
  elements: dict
  sample:
    - name: data
      uid: 9f2d9b1e-6f0c-4a35-8d9b-0d3c1c6f2a11
      status: pending
      kind: data without manager
      container: opensearch
      image: opensearchproject/opensearch:2.19.6
      target_image: opensearchproject/opensearch:3.8.0
      strategy: RollingUpdate
      rolled_by: OnDelete
      ephemeral: false
      members: [data-0, data-1]
batches:
  description: The batches in order; empty when every member is as the plan wants it.
  returned: success
  type: list
  elements: dict
  sample:
    - name: batch-01.data-1
      pools: [data]
      members: [data-1]
      cures: false
      outdated: []
      kind: data without manager
      reason: data without manager
      proof: Every shard of the batch keeps a started copy elsewhere (12 of 12), 3 of 3 voting members stay
members:
  description: Names of all members, of the pools and of the cluster.
  returned: success
  type: list
  elements: str
  sample: [data-0, data-1]
broken:
  description: Members of the pools that are not in the cluster.
  returned: success
  type: list
  elements: str
  sample: []
outdated:
  description:
    - The members that run the target version, and whose pods are of an older template than their pool has. They are
      replaced as members of an older version are.
  returned: success
  type: list
  elements: str
  sample: []
left:
  description:
    - The members, in the cluster or not, that do not run the target version after the plan, or stay on an older
      template. Pools that may belong to the cluster, although none of their members is in it, are named too.
  returned: success
  type: list
  elements: str
  sample: []
kubernetes_nodes:
  description: The Kubernetes node of each member that is in a batch, if its pod has one.
  returned: success
  type: dict
  sample: {data-0: worker-1}
raises:
  description: The replicas that the run makes before its first batch, with O(raise_replicas); otherwise empty.
  returned: success
  type: dict
  contains:
    indices: {description: The indices that get one., type: list, elements: str, returned: with O(raise_replicas)}
    shards: {description: The number of their shards., type: int, returned: with O(raise_replicas)}
    bytes: {description: The bytes that are copied., type: int, returned: with O(raise_replicas)}
    seconds:
      description: The least time that the copies take, by C(indices.recovery.max_bytes_per_sec).
      type: int
      returned: with O(raise_replicas)
digest:
  description:
    - A C(p) and eleven hexadecimal digits. They stand for the state to which the plan brings the cluster, and for the
      consents and conditions of the plan. The digest stays the same while the plan is carried out.
  returned: success
  type: str
  sample: p5f0c1d2e3a4
actions:
  description: Always empty - nothing is changed.
  returned: always
  type: list
  elements: dict
  sample: []
waited:
  description: Each reason that was waited for, with its seconds, the longest first.
  returned: always
  type: list
  elements: dict
next:
  description: The next step.
  returned: always
  type: str
  sample: begin
"""

from ..module_utils.entry.entry import run_as_module
from ..module_utils.opensearch.pool_order import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
