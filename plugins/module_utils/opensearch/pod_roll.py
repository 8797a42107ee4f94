# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `pod_ondelete_roll`: replace the pods of a batch, proven on fresh state before the first.

Kubernetes' side of it is in `..kubernetes.pod_roll`; here is what OpenSearch has to say to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ..common.arguments import CONNECTIONS, CONSENT, NAMESPACE, WAIT
from ..common.task import Contract, Outcome, Task
from ..common.verdict import Verdict, combine
from ..kubernetes import client as kubernetes
from ..kubernetes.judge import pod_is_current, pool_of
from ..kubernetes.partition import judge_rolling
from ..kubernetes.pod_roll import Questions, roll
from ..kubernetes.state import Namespace, Pod, StatefulSet
from ..planning.versions import Version
from .client import connect
from .data_paths import DataPaths, keeps_data, said_by_all
from .gates import judge_joined
from .hand_over import HandOver
from .health_gate import target_of
from .last_look import prove
from .lost_data import judge_lost, judge_unseen
from .observe import observe_data_paths, observe_members
from .policy import Policy, awaiting, policy_of
from .restricting import RESTRICTING, Restriction
from .standing import holding_unseen, judge_leaving, judge_recognised, need_pods
from .state import ClusterMember, ClusterState

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **NAMESPACE,
        **WAIT,
        "wait_sleep": {"type": "float", "default": 0.25},
        **CONSENT,
        "pools": {"type": "list", "elements": "str", "required": True, "aliases": ["pool"]},
        "batch": {"type": "list", "elements": "str", "required": True},
        "members": {"type": "list", "elements": "str", "default": []},
        "target_version": {"type": "str"},
        "proof_timeout": {"type": "int"},
        "hand_over": {"type": "bool", "default": True},
        **RESTRICTING,
        "until": {"type": "str", "choices": ["ready", "joined"], "default": "ready"},
    },
)


def run(task: Task) -> Outcome:
    """Replace the batch; members that already run the new revision and are in the cluster are left alone."""
    params = task.params
    target = target_of(params["target_version"]) if params["target_version"] else None
    search = connect(params["opensearch"], params["kubernetes"])
    policy = policy_of(params, hands_over=params["hand_over"])
    former: dict[str, str] = {}
    paths: dict[str, tuple[str, ...]] = {}
    hand_over = HandOver(task, search, params["batch"], policy)
    restriction = Restriction(task, search, params["batch"], policy.allow_red_indices)

    def proof(pools: Sequence[StatefulSet], there: Namespace, deleted: Collection[str]) -> Verdict:
        # Before the look, so that this is as fresh as it can be.
        if not paths.keys() >= set(params["batch"]):
            paths.update(observe_data_paths(search))
        state = restriction.last.see()
        said_by_all(paths, [name for name in params["batch"] if state.named(name)])
        need_pods(state, there)
        # What came back meanwhile is another process than the one that was deleted.
        former.update({m.name: m.ephemeral_id for m in state.members.values() if m.name not in deleted})
        proven = prove(state, params["members"], params["batch"], policy, deleted)
        standing = judge_pods(state, there.pods, params["batch"], deleted)
        expected = replace(
            awaiting(policy, state, params["members"], params["batch"]), hands_over=hand_over.is_ahead(state)
        )
        going = [pod for pod in there.pods if pod.name in params["batch"] and pod.name not in deleted]
        lost = judge_ephemeral(state, pools, going, paths, expected)
        rolling = judge_other_pools(state, there, pools)
        return combine((proven, standing, rolling, hand_over.judge(state, deleted), lost))

    def prepare(going: Collection[str]) -> bool:
        # Restricted last of all: what is made under the restriction lacks its replicas.
        return (not task.check_mode and hand_over.make(going)) or restriction.make()

    def early(names: Collection[str]) -> bool:
        return have_come_back(observe_members(search, names), names, former, target)

    def joined(names: Collection[str]) -> Verdict:
        return judge_joined(observe_members(search, names).get, names, target)

    is_early, looks = early if params["until"] == "joined" else None, restriction.last
    questions = Questions(proof, joined, is_early, prepare, looks.in_vain, restriction.again)
    cluster = kubernetes.connect(params["kubernetes"])
    outcome = roll(task, cluster, params["namespace"], params["pools"], params["batch"], questions)
    return replace(outcome, verdict=combine((outcome.verdict, Verdict(restriction.remarks))))


def judge_pods(
    state: ClusterState, pods: Collection[Pod], batch: Collection[str], deleted: Collection[str] = frozenset()
) -> Verdict:
    """What the pods of the namespace say of the members that stay, and of those of the batch that are still to go.

    A batch that is away as a whole takes nothing down, so it is cured whoever else goes. One of it that is Ready and no
    member may have lost its connection for just a moment, so that is waited for: the plan has refused what stays so.
    """
    going = [pod for pod in pods if pod.name in batch and pod.name not in deleted]
    staying = judge_leaving(state, pods, batch) if state.ids(batch) else Verdict()
    return combine((staying, judge_recognised(state, going, pods, may_pass=True)))


def judge_other_pools(state: ClusterState, there: Namespace, pools: Sequence[StatefulSet]) -> Verdict:
    """No other pool of the cluster is being rolled by its own controller, which waits for nobody's proof."""
    found = [(other, there.pods_of(other)) for other in there.sets if other not in pools]
    return combine([judge_rolling(other, pods) for other, pods in found if state.ids(pods)])


def judge_ephemeral(
    state: ClusterState, pools: Sequence[StatefulSet], batch: Collection[Pod], paths: DataPaths, policy: Policy
) -> Verdict:
    """What would be lost for good with the pods of each pool that keeps no data.

    Copies that only several members hold between them are the proof's: without a copy outside the batch nothing goes.
    """
    verdicts: list[Verdict] = []
    for pool in pools:
        own = [pod for pod in batch if pool_of([pool], pod.name)]
        if not keeps_data(pool, paths):
            going = [pod.name for pod in own]
            verdicts.append(judge_lost(state, going, pool.name, policy))
            away = holding_unseen(state, [pod for pod in own if not pod_is_current(pool, pod)])
            verdicts.append(judge_unseen(state, away, pool.member_names(), pool.name, policy.allow_red_indices))
    return combine(verdicts)


def have_come_back(
    seen: Mapping[str, ClusterMember], names: Collection[str], former: Mapping[str, str], target: Version | None
) -> bool:
    """Whether all these members are in the cluster as other processes than before, on the target version.

    `former` holds their ephemeral ids at the proof: a node that died without a word is listed for a while after its
    successor was started.
    """
    return all(
        name in former
        and name in seen
        and seen[name].ephemeral_id != former[name]
        and (target is None or seen[name].version == target)
        for name in names
    )
