#!/usr/bin/python
# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module upgrade_notice."""

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_notice
short_description: Tell a state of an upgrade to its request and to a webhook
description:
  - Notes a state of an upgrade at its request, in the place from which that was read.
  - Sends a state of an upgrade to a URL, as JSON by POST. The record of the upgrade knows which notices were sent, so
    that a run that goes on, and single passes, tell each state once. Without a record each is sent.
  - If a run is killed between the notice and its note in the record, the next one sends it again, with the same header
    C(Idempotency-Key).
  - A notice that cannot be sent is a remark. No upgrade fails because of it.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  url:
    description: The URL of the webhook. It is never shown, since it may hold a secret.
    type: str
  source:
    description: The place of the request, see M(stateful.upgrade.upgrade_request).
    type: str
  state:
    description: The state that is told, such as V(started) or V(completed).
    type: str
    required: true
  cause:
    description: The cause of the state, in sentences.
    type: str
    default: ''
  codes:
    description: The codes of the reasons. A state with other codes is another notice.
    type: list
    elements: str
    default: []
  plan:
    description:
      - The plan, of which the version that is upgraded to and the digest are told. By its C(cluster_uuid) the record is
        found before a run has a lock.
    type: dict
    default: {}
  body:
    description:
      - The content that is sent. By default it has C(text), a sentence, and C(state), C(cause), C(codes),
        C(target_version), C(plan) (its digest), C(place), C(system), C(phase), C(run), C(at) and C(key).
    type: dict
  namespace:
    description: The namespace of the record. Needed with O(record_kept_in=kubernetes).
    type: str
  timeout:
    description: Seconds for the answer.
    type: int
    default: 10
attributes:
  check_mode:
    support: full
    description: Nothing is sent.
  diff_mode:
    support: none
    description: Nothing is changed but the note in the record.
  idempotent:
    description: A notice that the record knows is not sent again.
    support: full
extends_documentation_fragment:
  - stateful.upgrade.connections
  - stateful.upgrade.runs.metrics
  - stateful.upgrade.runs.record
notes:
  - "Kubernetes rights needed if the record is kept there: C(get) and C(patch) of C(configmaps)."
  - "OpenSearch is not asked, except for a lock that is kept there."
seealso:
  - module: stateful.upgrade.upgrade_record
"""

EXAMPLES = r"""
- name: Tell the team that the upgrade has started
  stateful.upgrade.upgrade_notice:
    namespace: search
    url: "{{ webhook }}"
    state: started
    plan: "{{ planned }}"
    lock: "{{ taken.lock }}"
"""

RETURN = r"""
changed:
  description: Whether a notice was (in check mode - would be) sent.
  returned: always
  type: bool
verdict:
  description: The verdict. A remark says that the notice could not be sent.
  returned: always
  type: dict
  sample: {state: passed, reasons: []}
key:
  description: The key of the notice.
  returned: when it was sent, or known already
  type: str
  sample: started-3f2a5b6c7d8e
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
  description: Always empty - nothing is waited for.
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
from ..module_utils.run.output.upgrade_notice import CONTRACT, run


def main() -> None:
    """Run the module."""
    run_as_module(CONTRACT, run)


if __name__ == "__main__":
    main()
