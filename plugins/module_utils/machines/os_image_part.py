"""The part `os_image` of a run: what the role `member_os_image` does on a machine. Its work is that of the action
plugin, which asks the agent of the machine and follows its operations (`plugin_utils/os_image_steps.py`)."""

from __future__ import annotations

from ..common.task import Contract, Outcome, Task

STATES = ("asked", "prepared", "before_drain", "after_drain", "ended")
CONTRACT = Contract(argument_spec={"state": {"type": "str", "required": True, "choices": [*STATES]}}, guarded=False)


def run(_task: Task) -> Outcome:
    """Never called: a module on the machine would need the Python of the controller there."""
    raise AssertionError("the part os_image is the work of its action plugin")
