"""A part of the plan: the clusters that follow indices of this one."""

from __future__ import annotations

from ..common.arguments import CONNECTIONS, WAIT
from ..common.errors import Refusal, Unreachable
from ..common.task import Contract, Outcome, Task
from ..common.verdict import Verdict
from .judge.followers import judge_followers, unknown
from .judge.upgrade_path import target_of
from .observe.client import connect
from .observe.followers import observe_followers

CONTRACT = Contract(argument_spec={**CONNECTIONS, **WAIT, "target_version": {"type": "str"}})


def run(task: Task) -> Outcome:
    """Name the followers. Without the right to ask for them, a remark says so.

    Raises:
        Unreachable: the servers do not answer.
    """
    search = connect(task.params["opensearch"], task.params["kubernetes"])
    try:
        found = task.ask(lambda: observe_followers(search))
    except Unreachable:
        raise
    except Refusal as error:
        return Outcome(Verdict((unknown(error.verdict.reasons[0].message),)))
    return Outcome(judge_followers(found, target_of(task.params["target_version"])))
