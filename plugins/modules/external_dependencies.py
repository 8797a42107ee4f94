#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module external_dependencies."""

from __future__ import annotations

DOCUMENTATION = r"""
module: external_dependencies
short_description: Prove that all is available that an upgrade depends on outside the cluster
description:
  - Asks each dependency, several at the same time, and waits until all of them are available. All that are not are
    named.
  - The proxy of the environment is used for HTTP. Certificates are verified.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  dependencies:
    description:
      - The addresses. V(https://…) and V(http://…) are available if they answer with a status below 400.
        V(registry://HOST) is a registry of images, which may ask for a login. V(tcp://HOST:PORT) takes a connection,
        and V(dns://NAME) has an address.
    type: list
    elements: str
    required: true
  timeout:
    description: Seconds for the answer of one of them.
    type: int
    default: 10
  wait:
    description: Whether to wait until all are available.
  wait_timeout:
    description: Seconds to wait.
    default: 300
  wait_sleep:
    description: Seconds between two looks.
    default: 5.0
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    description: Nothing is changed.
  idempotent:
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.task
notes:
  - "Neither Kubernetes nor OpenSearch is asked, except for a lock that is kept there."
seealso:
  - module: stateful.upgrade.cluster_health_gate
"""

EXAMPLES = r"""
- name: See whether the images and the backups can be reached
  stateful.upgrade.external_dependencies:
    dependencies:
      - registry://registry.example.com
      - tcp://backup.example.com:9000
"""

RETURN = r"""
changed:
  description: Always false.
  returned: always
  type: bool
verdict:
  description: The verdict, with a reason for each dependency that is not available.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
unavailable:
  description: The dependencies that are not available.
  returned: when all were asked
  type: list
  elements: str
before:
  description: Always empty.
  returned: always
  type: dict
actions:
  description: Always empty - nothing is changed.
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
from ..module_utils.monitoring.external_dependencies import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
