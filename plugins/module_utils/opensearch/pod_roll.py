# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `pod_ondelete_roll`: replace the pods of a batch, proven on fresh state before the first.

The side of Kubernetes is in `..pools.pod_roll`; the questions to OpenSearch are here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ..common.arguments import CONNECTIONS, CONSENT, NAMESPACE, WAIT
from ..common.task import Contract, Outcome, Task
from ..common.verdict import Verdict, combine
from ..kubernetes import client as kubernetes
from ..kubernetes.state import Namespace, StatefulSet
from ..pools.pod_roll import Questions, roll
from .act.hand_over import HandOver
from .act.restricting import RESTRICTING, Restriction
from .judge.back import judge_back
from .judge.pods import judge_ephemeral, judge_other_pools, judge_pods
from .judge.policy import awaiting, policy_of
from .judge.safety import prove
from .judge.standing import need_pods
from .judge.upgrade_path import target_of
from .observe.client import connect
from .observe.cluster import observe_data_paths, observe_members
from .observe.data_paths import said_by_all

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **NAMESPACE,
        **WAIT,
        "wait_sleep": {"type": "float", "default": 0.25},
        **CONSENT,
        "pools": {"type": "list", "elements": "str", "required": True, "aliases": ["pool"]},
        "batch": {"type": "list", "elements": "str", "required": True},
        "expected": {"type": "list", "elements": "str", "default": []},
        "target_version": {"type": "str"},
        "proof_timeout": {"type": "int"},
        "hand_over": {"type": "bool", "default": True},
        **RESTRICTING,
        "until": {"type": "str", "choices": ["ready", "joined"], "default": "ready"},
        "usual_seconds": {"type": "float"},
    }
)


def run(task: Task) -> Outcome:
    """Replace the batch. Members that already run the new revision and are in the cluster are left alone."""
    params = task.params
    target = target_of(params["target_version"]) if params["target_version"] else None
    search = connect(params["opensearch"], params["kubernetes"])
    policy = policy_of(params, hands_over=params["hand_over"])
    former: dict[str, str] = {}
    paths: dict[str, tuple[str, ...]] = {}
    hand_over = HandOver(task, search, params["batch"], policy)
    restriction = Restriction(task, search, params["batch"], policy.allow_red_indices)

    def proof(pools: Sequence[StatefulSet], there: Namespace, deleted: Collection[str]) -> Verdict:
        # The paths are read before the look, so that the look is as fresh as possible.
        if not paths.keys() >= set(params["batch"]):
            paths.update(observe_data_paths(search))
        state = restriction.last.see()
        said_by_all(paths, [name for name in params["batch"] if state.named(name)])
        need_pods(state, there)
        # A member that came back meanwhile is another process than the one that was deleted.
        former.update({m.name: m.ephemeral_id for m in state.members.values() if m.name not in deleted})
        proven = prove(state, params["expected"], params["batch"], policy, deleted)
        standing = judge_pods(state, there.pods, params["batch"], deleted)
        expected = replace(
            awaiting(policy, state, params["expected"], params["batch"]), hands_over=hand_over.is_ahead(state)
        )
        going = [pod for pod in there.pods if pod.name in params["batch"] and pod.name not in deleted]
        lost = judge_ephemeral(state, pools, going, paths, expected)
        rolling = judge_other_pools(state, there, pools)
        return combine((proven, standing, rolling, hand_over.judge(state, deleted), lost))

    def prepare(going: Collection[str]) -> bool:
        # The restriction comes last: indices that are made under it lack their replicas.
        return (not task.check_mode and hand_over.make(going)) or restriction.make()

    def early(names: Collection[str]) -> bool:
        # For a member that was not there at the proof any process would count, so its pod has to be Ready.
        known = former.keys() >= {*names}
        return known and judge_back(observe_members(search, names), names, target, former).passed

    def joined(names: Collection[str]) -> Verdict:
        return judge_back(observe_members(search, names), names, target)

    is_early, looks = early if params["until"] == "joined" else None, restriction.last
    questions = Questions(proof, joined, is_early, prepare, looks.in_vain, restriction.again)
    cluster = kubernetes.connect(params["kubernetes"])
    outcome = roll(task, cluster, params["namespace"], params["pools"], params["batch"], questions)
    return replace(outcome, verdict=combine((outcome.verdict, Verdict(restriction.remarks))))
