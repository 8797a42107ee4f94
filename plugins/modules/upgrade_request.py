#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module upgrade_request."""

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_request
short_description: Read the request of an upgrade, and note its state
description:
  - Reads the request of an upgrade, a small YAML document with the variables of the run, from a file, a ConfigMap or a
    URL. Before each batch it is read again, so that a request that was changed or withdrawn stops the upgrade.
  - Notes the state of the request beside it, for the person or the pipeline that has made it.
  - Each value is read as the text that was written, so that the version V(3.10) stays what it is. Templates are never
    carried out. A document has 64 KiB at the most.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  source:
    description:
      - The place of the request - a URL (V(https://…)), V(configmap/NAME) for the key C(request.yml) of a ConfigMap in
        O(namespace), or the path of a file.
      - A URL is read without a login, through the proxy of the environment, and redirections are not followed.
    type: str
    required: true
  namespace:
    description: The namespace of the ConfigMap.
    type: str
  state:
    description:
      - V(read) gives the request.
      - V(noted) notes O(request_state) and O(cause) in its place. A ConfigMap gets the annotation
        C(upgrade.stateful/request-state), and a file gets one beside it with the same name and C(.state.json). A URL is
        only read.
    type: str
    choices: [read, noted]
    default: read
  expected:
    description:
      - The digest of the request as an earlier task has read it. If the request is another one now, or is gone, the
        verdict is V(waiting).
    type: str
  request_state:
    description: The state to note.
    type: str
    choices: [invalid, waiting, delayed, refused, started, scale_skipped, paused, completed, failed, cancelled]
  cause:
    description: The cause of the state, in sentences.
    type: str
    default: ''
  wait:
    description: Whether to ask again while there is no answer.
  wait_timeout:
    description: Seconds to ask again.
    default: 120
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    description: Nothing but a note is written.
  idempotent:
    description: Reading changes nothing. Each note carries its time.
    support: partial
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.runs.metrics
  - stateful.upgrade.task
notes:
  - "Kubernetes rights needed for a ConfigMap: C(get) and C(patch) of C(configmaps)."
  - "OpenSearch is not asked, except for a lock that is kept there."
seealso:
  - module: stateful.upgrade.upgrade_plan
"""

EXAMPLES = r"""
- name: Read the request
  stateful.upgrade.upgrade_request:
    source: configmap/next-upgrade
    namespace: search
  register: asked

- name: Note that it is done
  stateful.upgrade.upgrade_request:
    source: configmap/next-upgrade
    namespace: search
    state: noted
    request_state: completed
"""

RETURN = r"""
changed:
  description: Whether a state was noted.
  returned: always
  type: bool
verdict:
  description: The verdict. It waits if the request was changed or withdrawn since it was read first.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
request:
  description:
    - The request - its C(type), its C(variables), its C(digest), and the C(faults) that the document shows by itself,
      one sentence each. Empty if it was withdrawn.
  returned: with O(state=read)
  type: dict
  sample:
    type: opensearch
    variables: {target_version: 3.8.0, upgrade_at: '2026-11-21T02:00:00Z'}
    digest: 3f2a5b6c7d8e
    faults: []
before:
  description: Always empty.
  returned: always
  type: dict
actions:
  description: Each act, with its time.
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
from ..module_utils.run.start.upgrade_request import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
