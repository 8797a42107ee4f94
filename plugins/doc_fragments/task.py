"""The options of every module for waiting, the meaning of its attributes, and the option `namespace`."""

from __future__ import annotations


class ModuleDocFragment:
    """The options of `WAIT` and `NAMESPACE` in common/arguments. Each module gives its own `support`."""

    DOCUMENTATION = r"""
options:
  wait:
    description:
      - With V(true), wait until the verdict is passed or refused, or O(wait_timeout) is over. A task that runs on the
        controller shows every change of the reason.
      - With V(false), look once and return the verdict. Run again later to continue.
    type: bool
    default: true
  wait_timeout:
    description: Seconds to wait. When they are over, the task fails and names what it waits for.
    type: int
    default: 1800
  wait_sleep:
    description: Seconds between two looks. While nothing changes for minutes the pauses grow, to at most 5 seconds.
    type: float
    default: 1.0
attributes:
  check_mode:
    description: Makes the same observations and gives the same verdict without changing anything.
  diff_mode:
    description: Shows what was (in check mode - would be) changed.
  idempotent:
    description: A second run with the same options changes nothing, if nothing else has changed in between.
"""

    NAMESPACE = r"""
options:
  namespace:
    description: The namespace of the cluster's pods.
    type: str
    required: true
"""
