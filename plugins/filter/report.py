"""The filter report."""

from __future__ import annotations

DOCUMENTATION = r"""
name: report
short_description: Make the report of an upgrade from its record
description:
  - Gives the timeline, the seconds of each phase and the longest waits of one upgrade.
  - The playbook C(stateful.upgrade.report) writes it as a page, as Markdown or as JSON.
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _input:
    description: A record, as M(stateful.upgrade.upgrade_record) gives it.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Read the records
  stateful.upgrade.upgrade_record:
    namespace: search
  register: known

- name: Show the seconds at work
  ansible.builtin.debug:
    msg: "{{ (known.records | last | stateful.upgrade.report).at_work }}"
"""

RETURN = r"""
_value:
  description:
    - C(bars) has the batches with C(begin) and C(end) on an axis of C(length) seconds. C(away) is the longest absence
      of a member of the batch, and C(shares) are the seconds of its phases. C(green_seconds) are those from its
      end until the next gate found the cluster green; null if no gate has seen that.
    - A bar is one try of a batch - C(number) of so many C(tries), all in one C(row). A try that was followed by
      another is V(stopped), V(interrupted) with its run, or V(paused). C(rows) are the batches on the timeline, and
      C(repeated) those that several runs have started.
    - C(pauses) are the pauses that the axis leaves out. C(at_work) are the seconds without them.
    - C(phases) are the seconds of each phase over all members, if they took any, C(waits) the longest waits.
    - C(changes) are the settings and objects that were changed, and how often each was put back. C(health) of a bar is
      the health that its gate has found, C(health) of the report that of the last gate. C(compared) has a name and the
      figures of this upgrade and of the one before, if there was one.
    - C(counts) are the things that the system has counted, such as the documents of each index. C(said) are the
      sentences about them, and C(rows) the parts with their numbers before and after, those with fewer now first.
    - C(images) are the images of members, each with C(member), C(before) and C(after), where a system names them.
    - C(figures) are the figures of the cluster's health, each with C(batch), C(before), C(now) and its C(outcome).
    - C(skipped) are the checks that were not made. C(risks) has these and the risks that were accepted, each with what
      is C(said), who has said so (C(by)), C(at) and C(run).
  type: dict
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils.common.errors import Refusal
from ..module_utils.run.output.report import report_of
from ..module_utils.run.record.record_reading import parse_record


def report(record: Mapping[str, Any]) -> dict[str, Any]:
    """The report of a record.

    Raises:
        AnsibleFilterError: this is not a record.
    """
    try:
        return report_of(parse_record(json.dumps(record, default=str), "the variable")).as_result()
    except (Refusal, TypeError, ValueError) as error:
        raise AnsibleFilterError(f"The filter report needs a record of an upgrade: {error}") from error


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Each filter by its name."""
        return {"report": report}
