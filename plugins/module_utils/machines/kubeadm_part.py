"""The part `kubeadm` of a run: what the role `member_kubeadm` does on a machine. Its work is that of the action plugin,
which carries out modules of Ansible on the machine (`plugin_utils/kubeadm_steps.py`)."""

from __future__ import annotations

from ..common.task import Contract, Outcome, Task

STATES = ("asked", "seen", "fetched", "tried", "saved", "installed", "proven", "handed_over", "upgraded", "restarted")
CONTRACT = Contract(
    argument_spec={
        "state": {"type": "str", "required": True, "choices": [*STATES]},
        "programs": {"type": "list", "elements": "str", "default": []},
    },
    guarded=False,
)


def run(_task: Task) -> Outcome:
    """Never called: a module on the machine would need the Python of the controller there."""
    raise AssertionError("the part kubeadm is the work of its action plugin")
