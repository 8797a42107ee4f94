"""The questions to OpenSearch about one batch of pods: may it go down now, what comes before, and is it back?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ..common.arguments import CONNECTIONS, CONSENT, NAMESPACE, WAIT, Options
from ..common.task import Task
from ..common.verdict import Reason, Verdict, combine
from ..kubernetes.state import Namespace, Pod, StatefulSet
from .absence import Absence
from .act.hand_over import HandOver
from .act.last_look import judge_snapshots_now
from .act.raising import RAISE_REPLICAS
from .act.restricting import RESTRICTING, Restriction
from .judge.back import judge_back
from .judge.pods import judge_ephemeral, judge_other_pools, judge_pods
from .judge.policy import Policy, awaiting, policy_of
from .judge.safety import prove
from .judge.standing import need_pods
from .observe.client import OpenSearchClient
from .observe.cluster import observe_data_paths, observe_members
from .observe.data_paths import said_by_all
from .observe.state import ClusterState
from .observe.version import Version
from .replica_plan import as_if_raised

OF_BATCH: Options = {
    **CONNECTIONS,
    **NAMESPACE,
    **WAIT,
    "wait_sleep": {"type": "float", "default": 0.25},
    **CONSENT,
    "pools": {"type": "list", "elements": "str", "required": True, "aliases": ["pool"]},
    "batch": {"type": "list", "elements": "str", "required": True},
    "expected": {"type": "list", "elements": "str", "default": []},
    "proof_timeout": {"type": "int"},
    "hand_over": {"type": "bool", "default": True},
    **RAISE_REPLICAS,
    **RESTRICTING,
    "until": {"type": "str", "choices": ["ready", "joined"], "default": "ready"},
    "usual_seconds": {"type": "float"},
}
"""The options of a module that takes one batch of pods down, by whatever means."""


class BatchProof:
    """The proof of one batch, made on fresh state as often as it is asked for."""

    def __init__(self, task: Task, client: OpenSearchClient, target: Version | None, *, loses_data: bool) -> None:
        """`loses_data` says whether members without a volume lose their data as they go."""
        params = task.params
        self._task = task
        self._client = client
        self._batch: Sequence[str] = params["batch"]
        self._policy: Policy = policy_of(params, hands_over=params["hand_over"])
        self._target = target
        self._loses_data = loses_data
        self._paths: dict[str, tuple[str, ...]] = {}
        self._hand_over = HandOver(task, client, self._batch, self._policy)
        self._restriction = Restriction(task, client, self._batch, self._policy.allow_red_indices)
        self.absence = Absence(client, health=params.get("until") == "joined")
        """The looks at the members after they went down."""
        self.former: dict[str, str] = {}
        """The process of each member as the last proof has seen it (ephemeral id)."""

    def proof(self, pools: Sequence[StatefulSet], there: Namespace, deleted: Collection[str]) -> Verdict:
        """May the members of the batch that are not `deleted` go down now?"""
        # The paths are read before the look, so that the look is as fresh as possible.
        if self._loses_data and not self._paths.keys() >= set(self._batch):
            self._paths.update(observe_data_paths(self._client))
        state = as_if_raised(self._task, self._restriction.last.see())
        need_pods(state, there)
        # A member that has come back since is another process than the one that was deleted.
        self.former.update({m.name: m.ephemeral_id for m in state.members.values() if m.name not in deleted})
        proven = prove(state, self._task.params["expected"], self._batch, self._policy, deleted)
        standing = judge_pods(state, there.pods, self._batch, deleted)
        rolling = judge_other_pools(state, there, pools)
        going = [pod for pod in there.pods if pod.name in self._batch and pod.name not in deleted]
        lost = self._judge_lost(state, pools, going)
        saving = judge_snapshots_now(self._task, state, {*self._batch} - {*deleted})
        return combine((proven, standing, rolling, self._hand_over.judge(state, deleted), lost, saving))

    def _judge_lost(self, state: ClusterState, pools: Sequence[StatefulSet], going: Collection[Pod]) -> Verdict:
        if not self._loses_data:
            return Verdict()
        said_by_all(self._paths, [name for name in self._batch if state.named(name)])
        awaited = awaiting(self._policy, state, self._task.params["expected"], self._batch)
        policy = replace(awaited, hands_over=self._hand_over.is_ahead(state))
        return judge_ephemeral(state, pools, going, self._paths, policy)

    def prepare(self, going: Collection[str]) -> bool:
        """Make the next preparation. The result says whether there was anything to do."""
        # The restriction comes last: indices that are made under it lack their replicas.
        return (not self._task.check_mode and self._hand_over.make(going)) or self._restriction.make()

    def in_vain(self) -> bool:
        """Whether waiting for the last proof is useless as long as allocation is restricted."""
        return self._restriction.last.in_vain()

    def again(self, verdict: Verdict) -> bool:
        """Take back the restriction, since the proof does not hold. True says that it is worth another try."""
        return self._restriction.again(verdict)

    @property
    def remarks(self) -> tuple[Reason, ...]:
        """The remarks on the restriction."""
        return self._restriction.remarks

    def early(self, names: Collection[str]) -> bool:
        """Whether these members have joined as other processes than at the proof."""
        # For a member that was not there at the proof any process would count, so its pod has to be Ready.
        known = self.former.keys() >= {*names}
        return known and judge_back(self.absence.look(names), names, self._target, self.former).passed

    def on_target(self, names: Collection[str]) -> frozenset[str]:
        """Those of these members that run the target version now; all of them if there is no target."""
        if self._target is None:
            return frozenset(names)
        seen = observe_members(self._client, names)
        return frozenset(name for name, member in seen.items() if name in names and member.version == self._target)

    def running(self) -> list[Version]:
        """The versions of the members that are in the cluster now."""
        return [member.version for member in observe_members(self._client, self._task.params["expected"]).values()]

    def joined(self, names: Collection[str], deleted: Collection[str]) -> Verdict:
        """Whether these members are in the cluster, on the target version if there is one.

        Those that were `deleted` are there only as other processes than at the last proof before that.
        """
        former = {name: process for name, process in self.former.items() if name in deleted}
        return judge_back(self.absence.look(names), names, self._target, former)
