#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module shard_allocation."""

from __future__ import annotations

DOCUMENTATION = r"""
module: shard_allocation
short_description: Restrict shard allocation while members restart, and put it back exactly
description:
  - Sets C(cluster.routing.allocation.enable) of an OpenSearch cluster while members are down, so that their shards are
    not rebuilt elsewhere, and puts it back exactly as it was - the same scope, the same value, or absent.
  - The change and its undo are written in one atomic request. The cluster itself carries the undo, as one JSON string
    under the setting C(cluster.metadata.stateful_upgrade.undo), so any later run, or a person, can apply it whatever
    became of the controller.
  - A setting is put back only where its value is still the one this module set. Where another has changed it since, it
    is left as it is and reported.
  - An undo that exists is never overwritten.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  state:
    description:
      - V(restricted) makes allocation as restricted as O(enable) says, in the scope that is in force (transient hides
        persistent).
      - V(flushed) only flushes the indices that have shards on O(members), so that it can be done while others recover.
      - V(restored) applies the undo that the cluster carries, if there is one.
    type: str
    required: true
    choices: [flushed, restricted, restored]
  enable:
    description:
      - What may still be allocated while restricted.
      - With V(primaries) a restarted member starts its own copies, and new indices get their primaries.
    type: str
    default: primaries
    choices: [primaries, new_primaries, none]
  flush:
    description:
      - With O(state=restricted), flush the indices that have shards on O(members) first, so that they start faster.
    type: bool
    default: true
  members:
    description: Names of the members that will be restarted. Only O(flush) uses them.
    type: list
    elements: str
    default: []
  wait:
    description: Whether to ask again while the cluster is out of reach.
    type: bool
    default: true
  wait_timeout:
    description: Seconds to do so.
    type: int
    default: 300
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.kubernetes
  - stateful.upgrade.opensearch
  - stateful.upgrade.lock
  - stateful.upgrade.wait
  - stateful.upgrade.attributes
notes:
  - "OpenSearch permissions needed: C(cluster:monitor/state), C(cluster:monitor/settings/get),
    C(cluster:admin/settings/update), C(indices:admin/flush)."
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
    members: [data-2]

- name: Put it back
  stateful.upgrade.shard_allocation:
    opensearch:
      hosts: [https://search.example.com:9200]
    state: restored
"""

RETURN = r"""
changed:
  description: Whether settings were (in check mode - would be) changed.
  returned: always
  type: bool
verdict:
  description: What is said of it; remarks name settings that another has changed since.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
before:
  description: The explicit settings under C(cluster.routing) by scope and name, as found.
  returned: always
  type: dict
  sample: {persistent cluster.routing.allocation.enable: all}
actions:
  description: What was done, with times.
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
  description: What was waited for, and for how many seconds, the longest first.
  returned: always
  type: list
  elements: dict
  sample:
    - {code: replica_unassigned, message: Replica 0 of index logs is not allocated., seconds: 4.2}
next:
  description: What comes next in a rolling upgrade.
  returned: always
  type: str
  sample: replace the members
"""

from ..module_utils.opensearch.shard_allocation import CONTRACT, run
from ..module_utils.running.entry import run_as_module


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
