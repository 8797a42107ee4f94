"""The filter os_image_answer."""

from __future__ import annotations

DOCUMENTATION = r"""
name: os_image_answer
short_description: Read what the agent of a machine says whose operating system is an image
description:
  - Reads the results of tasks for the role C(stateful.upgrade.member_os_image).
author:
  - The stateful.upgrade authors (@stateful-upgrade)
version_added: 0.1.0
options:
  _input:
    description: The value that is read.
    type: raw
    required: true
  read:
    description:
      - V(configuration) makes the host configuration of a step, from the fields that the user adds to it.
      - V(decision) gives the next step from the answer of the agent, with what is to be stored and submitted.
      - V(ended) says whether the agent has answered and has no operation under way.
      - V(busy) says whether the agent has an operation under way.
      - V(fault) gives the cause if its answer cannot be used, else an empty text.
      - V(until) gives the time that is so many seconds from now.
      - V(seconds) gives the seconds that are left until such a time.
      - V(tries) gives the number of looks until such a time, O(interval) seconds apart.
    type: str
    choices: [configuration, decision, ended, busy, fault, until, seconds, tries]
    required: true
  interval:
    description: Seconds between two looks.
    type: int
"""

EXAMPLES = r"""
- name: Show why the agent cannot be used
  ansible.builtin.debug:
    msg: "{{ agent_answer | stateful.upgrade.os_image_answer('fault') }}"
"""

RETURN = r"""
_value:
  description: The reading that O(read) names.
  type: raw
"""

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils import os_image_answers

READERS: Mapping[str, Callable[..., Any]] = {
    "configuration": os_image_answers.configuration_of,
    "decision": os_image_answers.decided,
    "ended": os_image_answers.has_ended,
    "busy": os_image_answers.is_busy,
    "fault": os_image_answers.fault_of,
    "until": os_image_answers.until_of,
    "seconds": os_image_answers.seconds_left,
    "tries": os_image_answers.tries_left,
}


def os_image_answer(value: Any, read: str, **given: Any) -> Any:
    """One reading of a value.

    Raises:
        AnsibleFilterError: there is no such reading, or the value cannot be read.
    """
    if read not in READERS:
        raise AnsibleFilterError(f"The filter os_image_answer reads {', '.join(READERS)}, and not {read}.")
    try:
        return READERS[read](value, **given)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise AnsibleFilterError(f"The filter os_image_answer cannot read {read}: {error!r}.") from error


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Each filter by its name."""
        return {"os_image_answer": os_image_answer}
