"""The part of pods in the proof of a batch: members that stay, pools that roll, data that would be lost."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...common.verdict import Verdict, combine
from ...kubernetes.state import Namespace, Pod, StatefulSet
from ...pools.judge import pod_is_current, pool_of
from ...pools.partition import judge_rolling
from ..observe.data_paths import DataPaths, keeps_data
from ..observe.state import ClusterState
from .lost_data import judge_lost, judge_unseen
from .policy import Policy
from .standing import holding_unseen, judge_leaving, judge_recognised


def judge_pods(
    state: ClusterState, pods: Collection[Pod], batch: Collection[str], deleted: Collection[str] = frozenset()
) -> Verdict:
    """Whether the pods of the members that stay are not going, and those of the batch still to go are members.

    A batch that is away as a whole takes nothing down, so it is brought back whatever other pod goes. A pod of the
    batch that is Ready and no member may have lost its connection only for a short time, so it is waited for: the plan
    has refused one that stays so.
    """
    going = [pod for pod in pods if pod.name in batch and pod.name not in deleted]
    staying = judge_leaving(state, pods, batch) if state.ids(batch) else Verdict()
    return combine((staying, judge_recognised(state, going, pods, may_pass=True)))


def judge_other_pools(state: ClusterState, there: Namespace, pools: Sequence[StatefulSet]) -> Verdict:
    """Whether no other pool of the cluster is being rolled by its own controller, which waits for no proof."""
    found = [(other, there.pods_of(other)) for other in there.sets if other not in pools]
    return combine([judge_rolling(other, pods) for other, pods in found if state.ids(pods)])


def judge_ephemeral(
    state: ClusterState, pools: Sequence[StatefulSet], batch: Collection[Pod], paths: DataPaths, policy: Policy
) -> Verdict:
    """Whether nothing would be lost for good with the pods of each pool that keeps no data.

    The proof judges copies that several members of the batch hold: without a copy outside the batch nothing goes.
    """
    verdicts: list[Verdict] = []
    for pool in pools:
        own = [pod for pod in batch if pool_of([pool], pod.name)]
        if not keeps_data(pool, paths, state.product):
            going = [pod.name for pod in own]
            verdicts.append(judge_lost(state, going, pool.name, policy))
            away = holding_unseen(state, [pod for pod in own if not pod_is_current(pool, pod)])
            verdicts.append(judge_unseen(state, away, pool.member_names(), pool.name, policy.allow_red_indices))
    return combine(verdicts)
