"""Scripted pools whose pods come back when they are deleted, for the tests of rolling a batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, cast

from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, refused, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pod_roll import Questions, roll
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes import objects

Json = dict[str, Any]
NAMES = ("data-0", "data-1", "data-2")
PASSED = Verdict()
WAITING = Verdict((waiting("shards_moving", "Shards are moving."),))
REFUSED = Verdict((refused("only_copy", "data-2 holds the only copy.", "Add a replica."),))


class World:
    """One pool, or several, whose pods, once deleted, come back in a second; also the clock of the task."""

    def __init__(self, outdated: tuple[str, ...] = NAMES, **pool: Any) -> None:
        self.pool = objects.pool_json(**pool)
        self.pools = {"data": self.pool}
        self.pods: dict[str, Json] = {}
        for name in NAMES:
            revision = "data-old" if name in outdated else "data-new"
            self.pods[name] = objects.pod_json(name, f"{name}-old", revision=revision)
        self.deleted: list[tuple[str, str]] = []
        self.budgets: list[Json] = []
        self.failures: dict[str, Refusal] = {}
        self.on_tick: list[Callable[[], None]] = []
        self.time = 0.0
        self.starts: Callable[[str], None] = lambda _name: None
        """Starts the server of a pod that is Ready again."""
        self.after: Sequence[Callable[[], None]] = ()
        """What happens, one a second, once a pod that was deleted is Ready again."""

    def add(self, name: str, **pool: Any) -> None:
        """Another pool, of two pods of the old revision."""
        self.pools[name] = objects.pool_json(name, replicas=2, **pool)
        for member in (f"{name}-0", f"{name}-1"):
            self.pods[member] = objects.pod_json(member, f"{member}-old", revision=f"{name}-old")

    def now(self) -> float:
        """Seconds."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let them pass, and one thing happen."""
        self.time += seconds
        if self.on_tick:
            self.on_tick.pop(0)()

    def _may_fail(self, what: str) -> None:
        if what in self.failures:
            raise self.failures[what]

    def get(self, path: str) -> Json | None:
        """The pool; a namespace's user may not see Kubernetes nodes."""
        self._may_fail("get")
        if "/nodes/" in path:
            raise Refusal(refused("kubernetes_rights", "The user has rights in one namespace only.", ""))
        return self.pools.get(path.rpartition("/")[2]) if "/statefulsets/" in path else None

    def list(self, path: str, label_selector: str | None = None, field_selector: str | None = None) -> Any:
        """The pods, their events, or the pools."""
        if path.endswith("/events"):
            return [{"reason": "Unhealthy", "message": "got 503", "metadata": {}, "type": "Warning"}]
        if path.endswith("/poddisruptionbudgets"):
            return list(self.budgets)
        if path.endswith("/statefulsets"):
            self._may_fail("get")
            return list(self.pools.values())
        return list(self.pods.values())

    def log(self, namespace: str, pod: str, container: str, lines: int, previous: bool) -> Any:
        """The last lines."""
        return [f"last words of {pod}"]

    def post(self, path: str, body: Any, dry_run: bool = False) -> Json:
        """Admission lets every pod in."""
        assert dry_run
        return dict(body)

    def delete(self, path: str, uid: str) -> bool:
        """The pod stops, is gone, comes back, is Ready: one a second."""
        name = path.rpartition("/")[2]
        self._may_fail(f"delete {name}")
        self.deleted.append((name, uid))
        stopping = self.pods[name]["metadata"]
        stopping.update(deletionTimestamp="2026-11-21T00:00:00Z", deletionGracePeriodSeconds=30)
        self.on_tick += [lambda: self.gone(name), lambda: self.back(name, ready=False), lambda: self.back(name)]
        self.on_tick += self.after
        return True

    def gone(self, name: str) -> None:
        """The pod is gone."""
        self.pods.pop(name, None)

    def back(self, name: str, ready: bool = True) -> None:
        """The pod is there on the new revision."""
        self.pods[name] = objects.pod_json(name, f"{name}-new", ready=ready)
        if ready:
            self.starts(name)


class Asked:
    """A question with a prepared answer each time it is asked, the last one for ever."""

    def __init__(self, *answers: Verdict) -> None:
        self.answers = list(answers)
        self.times = 0

    def __call__(self) -> Verdict:
        self.times += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def turn(
    world: World,
    *batch: str,
    proof: Verdict | Asked = PASSED,
    joined: Verdict | Asked = PASSED,
    early: Callable[[Collection[str]], bool] | None = None,
    prepare: Callable[[Collection[str]], bool] | None = None,
    in_vain: Callable[[], bool] | None = None,
    pools: Sequence[str] = ("data",),
    **task: Any,
) -> Outcome:
    """One run of the module's work on a batch; `again`, `marked` and `before` are the questions of these names."""
    again: Callable[[Verdict], bool] | None = task.pop("again", None)
    last = {name: task.pop(name) for name in ("marked", "before", "as_set") if name in task}
    params = {"wait": True, "wait_timeout": 60, "wait_sleep": 1.0, **task.pop("params", {})}
    surroundings = Task(params=params, clock=world, **task)
    proof = proof if isinstance(proof, Asked) else Asked(proof)
    joined = joined if isinstance(joined, Asked) else Asked(joined)
    client = cast(KubernetesClient, world)
    questions = Questions(
        lambda _pools, _there, _deleted: proof(),
        lambda _names, _deleted: joined(),
        early,
        prepare,
        in_vain,
        again,
        **last,
    )
    outcome = roll(surroundings, client, "search", pools, list(batch), questions)
    return replace(outcome, more={**outcome.more, "actions": surroundings.journal.as_result()})


def actions(outcome: Outcome) -> list[tuple[str, str]]:
    """The acts, as (action, target)."""
    return [(each["action"], each["target"]) for each in outcome.more["actions"]]
