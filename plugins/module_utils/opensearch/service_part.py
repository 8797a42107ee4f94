"""The part `service` of a run: what the role `member_service` does on the host of a member. Its work is that of the
action plugin, which carries out modules of Ansible there (`plugin_utils/service_steps.py`)."""

from __future__ import annotations

from ..common.task import Contract, Outcome, Task

STATES = ("seen", "stopped", "installed", "started", "forgotten")
CONTRACT = Contract(argument_spec={"state": {"type": "str", "required": True, "choices": [*STATES]}}, guarded=False)


def run(_task: Task) -> Outcome:
    """Never called: a module on the host would need the Python of the controller there."""
    raise AssertionError("the part service is the work of its action plugin")
