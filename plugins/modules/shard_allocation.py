#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module shard_allocation."""

from __future__ import annotations

DOCUMENTATION = r"""
module: shard_allocation
short_description: Restrict shard allocation while members restart, drain members, and put it back exactly
description:
  - Sets C(cluster.routing.allocation.enable) of an OpenSearch cluster while members are down, so that their shards are
    not rebuilt elsewhere, and puts it back exactly as it was - the same scope, the same value, or absent.
  - On request it also switches rebalancing off and raises the limits of recoveries, for a whole run.
  - Moves the shards away from members that keep no data over a restart, by adding their names to
    C(cluster.routing.allocation.exclude._name), and removes exactly these names again.
  - The change and its undo are written in one atomic request. The cluster itself carries the undo, as one JSON string
    in the setting C(cluster.metadata.stateful_upgrade.undo). Any later run, or a person, can apply it, even after
    the controller has died.
  - A setting is put back only if its value is still the one that this module set. If something else has changed it
    since, it is left as it is and reported.
  - M(stateful.upgrade.pod_ondelete_roll) excludes members from voting for a short time. If it was killed in between,
    they vote again once this is put back. Exclusions of others are never removed.
  - An undo that exists is never overwritten. The run that wrote it extends it by further changes, and removes the
    parts that it puts back.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  state:
    description:
      - V(prepared) flushes the indices that have shards on O(batch), which can be done while others recover. For the
        whole run it sets O(recoveries), O(recovery_bytes), O(node_left_delay) and O(rebalance). A setting that another
        has changed since is left as it is.
      - V(restricted) makes allocation as restricted as O(enable) says, in the scope that is in force (transient hides
        persistent).
      - V(unrestricted) puts back only the restriction. Members stay drained, and the settings of the run stay.
      - V(drained) excludes O(batch) from allocation, and waits until they hold no shard any more. Before it changes
        anything, the server is asked for each of their shards whether another member takes it. If a shard has no other
        place, it refuses and names the shards and the deciders. Members that are not in the cluster hold no shard.
        Elasticsearch keeps only the exclusions in force that were changed last, so there those by other attributes are
        written again in the same request.
      - V(undrained) removes the names that V(drained) has added, and leaves others.
      - V(restored) applies the undo that the cluster carries, if there is one, as a whole or the O(part) asked for.
    type: str
    required: true
    choices: [prepared, restricted, unrestricted, drained, undrained, restored]
  enable:
    description:
      - The shards that may still be allocated while restricted.
      - With V(primaries) a restarted member starts its own copies, and new indices get their primaries.
    type: str
    default: primaries
    choices: [primaries, new_primaries, none]
  recoveries:
    description:
      - The least number of shards that a member may recover at a time,
        C(cluster.routing.allocation.node_concurrent_recoveries) (2 if nothing else is set). A higher value stays.
        By default, and with V(0), it is not touched.
      - It has no effect if C(node_concurrent_incoming_recoveries) and C(node_concurrent_outgoing_recoveries) are
        set.
    type: int
  recovery_bytes:
    description:
      - The bytes a second that a member may move for recoveries, C(indices.recovery.max_bytes_per_sec), such as
        V(200mb). By default it is not touched.
    type: str
  node_left_delay:
    description:
      - The time for which the copies of a member that has left wait for it, before they are built on others
        (C(cluster.routing.allocation.unassigned.node_left.delayed_timeout)), such as V(240s). Servers before OpenSearch
        3.8.0 and Elasticsearch have no such setting of the cluster, and it is not touched there.
      - A longer one stays, and one that the run has set. The playbooks give twice the time that members of this cluster
        take to come back.
    type: str
  rebalance:
    description:
      - With V(none), no shard is moved only to even out the members (C(cluster.routing.rebalance.enable)). Otherwise
        the servers start to do so as soon as a member is back, and the next member waits for it.
    type: str
    default: unchanged
    choices: [unchanged, none]
  part:
    description:
      - With O(state=restored), the part that is put back. V(batch) is the restriction and the exclusion of one batch;
        the settings of the run stay, and their undo with them.
    type: str
    default: all
    choices: [all, batch]
  take_over:
    description:
      - With O(state=restored), the run whose undo is put back although its lock cannot be read from here.
      - Every undo names the lock of the run that wrote it, and the settings of a living run are not put back. Give this
        only if that run is certainly dead.
    type: str
    default: ''
  archived:
    description:
      - The fate of settings that this version does not know (C(archived.)). They have no effect any more, but as long
        as there is one, the server refuses every change of settings.
      - V(remove) removes them in the same request, and says so. V(refuse) changes nothing and names them.
    type: str
    default: remove
    choices: [remove, refuse]
  raise_replicas:
    description:
      - With O(state=prepared), names and patterns of indices that get one replica if they have none and O(batch) has a
        shard of them, with the undo under C(cluster.metadata.stateful_upgrade.replicas) written before. V(true) is
        every index. The gate of the batch waits until the replica is started.
    type: list
    elements: str
    default: []
  keep_replicas:
    description:
      - With O(state=restored), whether indices keep the replicas that a run has given them, since a later run
        needs them. Otherwise they get back the number that they had, where it is still the one of the run.
    type: bool
    default: false
  before:
    description:
      - With O(state=restored), the settings that this run has found at its start, as in RV(before). Once the undo is
        applied, the settings are read again, whatever the undo said - a person may have removed it, or have restored an
        older state of the cluster. A setting that has the value which this run sets (O(enable), O(recoveries),
        O(recovery_bytes), O(rebalance), the names of O(batch)), and had another one at its start, is put
        back and named.
      - If they cannot be put back, each setting that stays is named with the request that puts it back.
    type: dict
  reset:
    description:
      - With O(state=restored), the consent to set these settings to null. They have a value that a run sets, and no
        undo names them. If this is given, even as an empty list, a remark names every other such setting.
      - With V(cluster.metadata.stateful_upgrade.undo) an undo that cannot be read is removed.
    type: list
    elements: str
  flush:
    description:
      - With O(state=prepared) and O(state=restricted), flush the indices that have shards on O(batch) first. The
        members then start faster.
    type: bool
    default: true
  batch:
    description:
      - Names of the members that will be restarted. O(flush) and O(state=drained) use them.
      - With O(before), the members whose names this run may have excluded.
    type: list
    elements: str
    default: []
  drained:
    description: With O(state=prepared), the members whose shards move to others then, as with O(state=drained).
    type: list
    elements: str
    default: []
  wait:
    description: Whether to ask again while the cluster does not answer, and to wait until members are drained.
  wait_timeout:
    description: Seconds to ask again, and to wait.
    default: 300
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.task
notes:
  - "OpenSearch permissions needed: C(cluster:monitor/state), C(cluster:monitor/nodes/info),
    C(cluster:admin/settings/update), C(indices:admin/flush*) on all indices (also each shard's own,
    C(indices:admin/flush[s])), and to drain C(cluster:monitor/allocation/explain); to remove exclusions from voting
    that an interrupted run has left C(cluster:admin/voting_config/clear_exclusions)."
seealso:
  - module: stateful.upgrade.pod_ondelete_roll
  - module: stateful.upgrade.cluster_health_gate
"""

EXAMPLES = r"""
- name: Restrict allocation before a member restarts
  stateful.upgrade.shard_allocation:
    opensearch:
      hosts: [https://search.example.com:9200]
      username: upgrade
      password: "{{ vault_opensearch_password }}"
    state: restricted
    batch: [data-2]

- name: Switch rebalancing off and let shards recover faster, for the whole run
  stateful.upgrade.shard_allocation:
    state: prepared
    rebalance: none
    recoveries: 10
    recovery_bytes: 200mb

- name: Move all shards away from a member that keeps no data
  stateful.upgrade.shard_allocation:
    state: drained
    batch: [cache-2]
    wait_timeout: 7200

- name: Put back what was changed for this batch
  stateful.upgrade.shard_allocation:
    state: restored
    part: batch

- name: Put everything back
  stateful.upgrade.shard_allocation:
    state: restored
"""

RETURN = r"""
changed:
  description: Whether settings were (in check mode - would be) changed.
  returned: always
  type: bool
verdict:
  description: The verdict. Remarks name settings that something else has changed since.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
before:
  description: The explicit settings of allocation and recovery by scope and name, as found.
  returned: always
  type: dict
  sample: {persistent cluster.routing.allocation.enable: all}
actions:
  description: Each act, with its time.
  returned: always
  type: list
  elements: dict
  sample:
    - action: set
      target: persistent cluster.routing.allocation.enable
      at: '2026-11-21T02:00:00.000Z'
      value: primaries
      was: all
waited:
  description: Each reason that was waited for, with its seconds, the longest first.
  returned: always
  type: list
  elements: dict
moved_bytes:
  description: The bytes that have moved away from the members.
  returned: with O(state=drained), if it had to wait, and the members reported their sizes
  type: int
next:
  description: The next step of a rolling upgrade.
  returned: always
  type: str
  sample: replace the members
"""

from ..module_utils.entry.entry import run_as_module
from ..module_utils.opensearch.shard_allocation import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
