#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module image_pull."""

from __future__ import annotations

DOCUMENTATION = r"""
module: image_pull
short_description: Prove that an image can be pulled on the Kubernetes nodes of a pool
description:
  - Makes a throw-away pod with the image on each Kubernetes node that runs a member of the pool, waits until the image
    is there or the pull has failed, and removes the pods, even after a failure. So a wrong tag, a missing pull secret
    or an unreachable registry is found before the first member goes down.
  - The images of the pool's other containers and init containers are proven with it, each by its own pull policy, since
    a pod starts only if all of them are there.
  - The image is on the Kubernetes nodes afterwards, so the members need not wait for it when they are replaced.
  - The pods do nothing (C(true)) and mount nothing. They use the service account, pull secrets, placement and security
    context of the pool, and no label that a selector of the pool or a Service could match.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  pool:
    description: Name of the StatefulSet.
    type: str
    required: true
  image:
    description: The whole image, with tag or digest.
    type: str
    required: true
  container:
    description:
      - The container of the pool whose pull policy and security context are used.
      - The default is the only one, or the only one whose image has the same name.
    type: str
  kubernetes_nodes:
    description:
      - V(every) pulls on each Kubernetes node that runs a member of the pool.
      - V(one) pulls on any one Kubernetes node that the pool's pods could run on.
    type: str
    default: every
    choices: [every, one]
  left_out:
    description: Kubernetes nodes on which nothing is pulled, such as those that a killed run has cordoned.
    type: list
    elements: str
    default: []
  wait:
    description:
      - With V(false), look once. While the image is still being pulled, the pods stay for the next run to look at.
  wait_timeout:
    description: Seconds to wait for the image. The pods end by themselves a minute later, in any case.
    default: 300
  wait_sleep:
    default: 0.25
attributes:
  check_mode:
    support: full
    details: No pod is made, only admitted (a dry run), so the verdict carries a remark that nothing is proven.
  diff_mode:
    support: none
    details: Nothing stays behind, so there is no difference to show.
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.task
  - stateful.upgrade.task.namespace
notes:
  - "Kubernetes rights needed in the namespace: C(get) of C(statefulsets) (group C(apps)); C(list), C(create) and
    C(delete) of C(pods)."
seealso:
  - module: stateful.upgrade.pool_image
"""

EXAMPLES = r"""
- name: Prove that the new image can be pulled before anything is touched
  stateful.upgrade.image_pull:
    namespace: search
    pool: data
    image: opensearchproject/opensearch:3.8.0

- name: On one Kubernetes node only, with time for a slow registry
  stateful.upgrade.image_pull:
    namespace: search
    pool: data
    image: opensearchproject/opensearch:3.8.0
    kubernetes_nodes: one
    wait_timeout: 900
"""

RETURN = r"""
changed:
  description: V(false), since nothing stays behind; V(true) if pods were made and O(wait=false) leaves them pulling.
  returned: always
  type: bool
verdict:
  description: The verdict. It is passed if the image is on all the Kubernetes nodes; otherwise it has the reasons.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
before:
  description: The Kubernetes nodes that run members of the pool, as found; empty with O(kubernetes_nodes=one).
  returned: always
  type: dict
  sample: {kubernetes_nodes: [worker-1, worker-2, worker-3]}
actions:
  description: The pods that were made and removed, with times.
  returned: always
  type: list
  elements: dict
  sample:
    - {action: create_pod, target: data-image-pull-x7k2p, at: '2026-11-21T02:00:00.000Z', kubernetes_node: worker-1}
waited:
  description: Each reason that was waited for, with its seconds, the longest first.
  returned: always
  type: list
  elements: dict
next:
  description: The next step, if the image is still being pulled.
  returned: always
  type: str
  sample: ''
"""

from ..module_utils.entry.entry import run_as_module
from ..module_utils.pools.image_pull import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
