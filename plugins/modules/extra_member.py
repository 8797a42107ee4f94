#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module extra_member."""

from __future__ import annotations

DOCUMENTATION = r"""
module: extra_member
short_description: Give a pool one member more for the time of an upgrade
description:
  - Gives a StatefulSet of OpenSearch members one replica more, and waits until the new member is in the cluster. It
    takes the new image, so that it is on the new version from its beginning and shows that this version starts here.
  - Afterwards the member is removed - its shards move to other members, it is proven that nothing is lost with it, the
    StatefulSet gets the number of replicas that it had, and the volume claims of the member are deleted.
  - The number of replicas before stands in the annotation C(upgrade.stateful/extra-member) of the StatefulSet. It is
    written in the same request as the change, so that any later run can remove the member.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  state:
    description:
      - V(present) makes the member, unless the pool has one already.
      - V(planned) judges whether it may be made. Nothing is changed.
      - V(absent) removes it, from O(pool) or from each pool of the namespace that has one.
    type: str
    choices: [present, planned, absent]
    default: present
  pool:
    description: The name of the StatefulSet. Its members can hold data, and must not be electable.
    type: str
  image:
    description: With O(state=present), the image that the pool gets before, see M(stateful.upgrade.pool_image).
    type: str
  container:
    description: With O(image), the container of the server.
    type: str
  strategy:
    description: With O(image), the update strategy that the pool gets with it.
    type: str
    choices: [OnDelete, RollingUpdate]
    default: OnDelete
  target_version:
    description: With O(state=present), the version on which the new member has to join.
    type: str
  allow_field_managers:
    description: The programs that may govern the pool, see M(stateful.upgrade.pool_image).
    type: list
    elements: str
    choices: [argocd, flux, configsync, kapp, gardener, crossplane, kubevela, k3s, fleet, terraform, pulumi, helm]
    default: []
  take_over:
    description: The run whose member is removed, although its lock is not free.
    type: str
    default: ''
  wait:
    description:
      - Whether to wait until the member has joined. A single pass (V(false)) is refused once O(wait_timeout) has passed
        since the member was made. The removal is always waited for.
  wait_timeout:
    description: Seconds to wait.
    default: 1200
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
  - stateful.upgrade.task.namespace
  - stateful.upgrade.opensearch.consent
notes:
  - "Kubernetes rights needed: C(get), C(list) and C(patch) of C(statefulsets), C(list) of C(pods), and C(get) and
    C(delete) of C(persistentvolumeclaims), in the namespace."
seealso:
  - module: stateful.upgrade.pool_image
  - module: stateful.upgrade.shard_allocation
"""

EXAMPLES = r"""
- name: Give the pool one member more
  stateful.upgrade.extra_member:
    namespace: search
    pool: opensearch-data
    image: opensearchproject/opensearch:3.8.0
    target_version: 3.8.0

- name: Remove it
  stateful.upgrade.extra_member:
    namespace: search
    state: absent
"""

RETURN = r"""
changed:
  description: Whether the member was made or removed, or would be in check mode.
  returned: always
  type: bool
verdict:
  description: The verdict, with the reasons for which the member may not be made, has not joined, or stays.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
member:
  description: The name of the member.
  returned: with O(state=present), once the pool was seen
  type: str
  sample: opensearch-data-3
before:
  description: The C(replicas) that the pool had; with O(state=absent) by pool.
  returned: always
  type: dict
actions:
  description: The acts, with their times.
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
from ..module_utils.opensearch.extra_member import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
