#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module pool_image."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pool_image
short_description: Set image and update strategy of a pool in one change, and put the strategy back
description:
  - Sets the image of a StatefulSet and its update strategy C(OnDelete) in one patch, so that no pod is replaced by it.
    The pods are then replaced batch by batch with M(stateful.upgrade.pod_ondelete_roll).
  - The undo travels in the same patch, as one JSON string in the annotation C(upgrade.stateful/undo) of the
    StatefulSet. Any later run, or a person, can apply it, even after the controller has died.
  - An undo that exists is adopted, never overwritten, as long as the strategy is the one it was written for. If
    something else has changed the strategy since, that change counts, and the result says so.
  - The patch is guarded by what was observed (C(resourceVersion)). If the StatefulSet changed in between, it is
    observed and judged again.
  - A pool that a controller owns (an operator) is refused. One that Argo CD, Flux or Helm deploys is refused unless
    O(allow_field_managers) allows it.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  pool:
    description:
      - Name of the StatefulSet. Required with O(state=present).
      - With O(state=restored) and no name, every pool of the namespace that carries an undo is restored. If one fails,
        the others are still restored. RV(before) and the diff are then by the name of the pool. The undo of a run under
        the lock of another cluster is named and left alone.
    type: str
  state:
    description:
      - V(present) makes image and update strategy as wanted.
      - V(restored) puts the update strategy back exactly as it was, once every pod of the pool is Ready on the
        revision that the pool wants. Before that it would start a roll without gates, so it stays, and the
        verdict has a remark with the reason. The image stays as it is.
    type: str
    default: present
    choices: [present, restored]
  image:
    description:
      - The whole image, with tag or digest. Required with O(state=present).
      - Init containers that run the same image as the container follow it.
    type: str
  container:
    description:
      - The container that gets the image.
      - The default is the only one, or the only one whose image has the same name.
    type: str
  strategy:
    description:
      - The update strategy under which no pod is replaced before M(stateful.upgrade.pod_ondelete_roll) does it.
      - With V(RollingUpdate) its partition is set above all pods, and lowered by that module.
    type: str
    default: OnDelete
    choices: [OnDelete, RollingUpdate]
  take_over:
    description:
      - With O(state=restored), the run whose undo is put back although its lock cannot be read from here.
      - Every undo names the lock of the run that wrote it, and the strategy that a living run has set is not put back.
        Give this only if that run is certainly dead.
    type: str
    default: ''
  allow_field_managers:
    description: Continue although one of these deploys the pool. At its next run it may put the old image back.
    type: list
    elements: str
    default: []
    choices: [argocd, flux, configsync, kapp, gardener, crossplane, kubevela, k3s, fleet, terraform, pulumi, helm]
  wait:
    description: Whether to ask again while the Kubernetes API does not answer.
  wait_timeout:
    description: Seconds to ask again.
    default: 300
attributes:
  check_mode:
    support: full
    details: The API server is asked for the result of the patch without making it (a dry run).
  diff_mode:
    support: full
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.task
  - stateful.upgrade.task.namespace
notes:
  - "Kubernetes rights needed in the namespace: C(get) and C(patch) of C(statefulsets) (group C(apps)), C(list) of
    C(pods). Without O(pool) also C(list) of C(statefulsets). To put back the changes of a run under another lock, also
    C(get) of C(leases) (group C(coordination.k8s.io)) in the namespace of that lock."
seealso:
  - module: stateful.upgrade.image_pull
  - module: stateful.upgrade.pod_ondelete_roll
"""

EXAMPLES = r"""
- name: Give the pool its new image; no pod is touched
  stateful.upgrade.pool_image:
    namespace: search
    pool: data
    image: opensearchproject/opensearch:3.8.0

- name: Put the update strategy back after the roll
  stateful.upgrade.pool_image:
    namespace: search
    pool: data
    state: restored

- name: Put back the update strategies of all pools that carry an undo
  stateful.upgrade.pool_image:
    namespace: search
    state: restored

- name: A pool installed by Helm, whose values are changed afterwards
  stateful.upgrade.pool_image:
    kubernetes:
      context: production
    namespace: search
    pool: data
    container: opensearch
    image: opensearchproject/opensearch:3.8.0
    allow_field_managers: [helm]
"""

RETURN = r"""
changed:
  description: Whether the StatefulSet was (in check mode - would be) changed.
  returned: always
  type: bool
verdict:
  description: The verdict. Remarks say why the strategy stays, or that something else changed it.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
before:
  description: Image of the container, update strategy and undo as found, by the name of the pool if none was named.
  returned: always
  type: dict
  sample:
    images: {opensearch: 'opensearchproject/opensearch:2.19.6'}
    strategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}
    undo: ''
actions:
  description: Each act, with its time. C(restored) has put a strategy back.
  returned: always
  type: list
  elements: dict
  sample:
    - {action: patch_stateful_set, target: data, at: '2026-11-21T02:00:00.000Z', set: [image, strategy, undo]}
waited:
  description: Each reason that was waited for, with its seconds, the longest first.
  returned: always
  type: list
  elements: dict
next:
  description: The next step of a rolling upgrade.
  returned: always
  type: str
  sample: Replace the pods batch by batch (pod_ondelete_roll).
"""

from ..module_utils.entry.entry import run_as_module
from ..module_utils.pools.pool_image import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
