"""The work of the module `extra_machines`: MachineDeployments have more machines while an upgrade lasts."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..common.arguments import CONNECTIONS, NAMESPACE, OTHER_KUBERNETES, WAIT
from ..common.attempts import until_unchanged
from ..common.task import Contract, Outcome, Task
from ..common.verdict import State, Verdict
from ..kubernetes.client import connect
from ..run.lock.lease import lease_at
from ..run.lock.lock_watch import Writers
from ..run.undo.temporary_changes import ATTEMPTS
from .act.adding import Addition, WantedMachines
from .act.removing import Removal
from .observe.look import cluster_api, members_in
from .rights import ROLE

MACHINE_DEPLOYMENTS: dict[str, Any] = {
    "type": "list",
    "elements": "dict",
    "options": {
        "name": {"type": "str", "required": True},
        "namespace": {"type": "str", "required": True},
        "extra": {"type": "int", "default": 1},
    },
}
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **NAMESPACE,
        **WAIT,
        "machine_deployments": {**MACHINE_DEPLOYMENTS, "required": True},
        "state": {"type": "str", "default": "present", "choices": ["present", "planned", "absent"]},
        "management": OTHER_KUBERNETES,
        "take_over": {"type": "str", "default": ""},
    },
)


def run(task: Task) -> Outcome:
    """Add the extra machines, judge whether they may be added, or take them away. A second run changes nothing."""
    params = task.params
    workload = connect(params["kubernetes"])
    management = connect(params["management"]) if params["management"] else workload
    wanted = [WantedMachines(each["namespace"], each["name"], each["extra"]) for each in params["machine_deployments"]]
    if not wanted:
        return Outcome(Verdict(), more={"leaving": []})
    api = task.ask(lambda: cluster_api(management))
    writers = Writers(task, partial(lease_at, workload), "extra_machines")
    addition = Addition(task, api, writers, wanted, ROLE)
    if params["state"] == "planned":
        verdict = task.ask(addition.foresee)
        return Outcome(verdict, before={"replicas": dict(addition.before)}, more={"leaving": []})
    way: Addition | Removal = addition
    if params["state"] == "absent":
        way = Removal(task, api, writers, wanted, partial(members_in, workload, params["namespace"]))
    acts = len(task.journal.as_result())

    def step() -> Verdict:
        return until_unchanged(way.again, ATTEMPTS)

    def judge(found: Verdict) -> Verdict:
        # Nothing is changed in check mode, so nothing would come of waiting.
        return Verdict() if task.check_mode and found.state is State.WAITING else found

    found, verdict = task.wait(step, judge, stoppable=params["state"] == "present")
    return Outcome(
        found if task.check_mode else verdict,
        changed=len(task.journal.as_result()) > acts,
        before={"replicas": dict(way.before)},
        after={"replicas": dict(way.after)},
        more={"leaving": sorted(way.chosen) if isinstance(way, Removal) else []},
    )
