"""The work of the module `pool_image`: the image and the update strategy of a pool, with their undo."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..common.arguments import CONNECTIONS, NAMESPACE, WAIT
from ..common.attempts import until_unchanged
from ..common.errors import Refusal, Unreachable
from ..common.task import Contract, Outcome, Task, passed_or_raise
from ..common.verdict import Reason, State, Verdict, combine, remark, waiting
from ..kubernetes.client import KubernetesClient, connect
from ..kubernetes.pods import pods_of
from ..kubernetes.state import StatefulSet
from ..kubernetes.stateful_sets import get_stateful_set, list_stateful_sets, path_of, stateful_set
from ..run.lock.lease import lease_at
from ..run.lock.lock_watch import Writers, writer_of
from ..run.undo.temporary_changes import ATTEMPTS
from ..run.undo.undo import Undo
from ..run.undo.undo_annotation import UNDO
from .deployers import DEPLOYERS, judge_deployer
from .judge import judge_controller, judge_revision, pod_is_current, unsettled
from .pool_changes import carried_undo, changes_to, container_of, holds, patch_back
from .put_back import judge_put_back

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **NAMESPACE,
        **WAIT,
        "wait_timeout": {"type": "int", "default": 300},
        "pool": {"type": "str"},
        "state": {"type": "str", "default": "present", "choices": ["present", "restored"]},
        "image": {"type": "str"},
        "container": {"type": "str"},
        "strategy": {"type": "str", "default": "OnDelete", "choices": ["OnDelete", "RollingUpdate"]},
        "take_over": {"type": "str", "default": ""},
        "allow_field_managers": {"type": "list", "elements": "str", "choices": list(DEPLOYERS), "default": []},
    },
    required_if=[("state", "present", ("pool", "image"))],
)


FIELDS = {"template": "image", "updateStrategy": "strategy", UNDO: "undo"}
"""The names of the parts of a patch in the result."""


def run(task: Task) -> Outcome:
    """Set the wanted image and strategy, or put the strategy back. A second run changes nothing."""
    client = connect(task.params["kubernetes"])
    restored: dict[str, Outcome] = {}
    writers = Writers(task, partial(lease_at, client), "pool_image")

    def step() -> Outcome:
        if task.params["state"] == "present":
            return until_unchanged(lambda: _make_present(task, client), ATTEMPTS)
        if task.params["pool"]:
            return until_unchanged(lambda: _restore_named(task, client, writers, task.params["pool"]), ATTEMPTS)
        return _restore_all(task, client, writers, restored)

    return task.settled(step)


def _make_present(task: Task, client: KubernetesClient) -> Outcome:
    params = task.params
    pool = get_stateful_set(client, params["namespace"], params["pool"])
    passed_or_raise(judge_controller(pool))
    container = container_of(pool, params["image"], params["container"])
    undo = carried_undo(pool)
    if undo is not None and undo.writer.lock and undo.writer.run == writer_of(task).run:
        # Within one run, a pool that has lost what the run gave it would lose it again before its member is back.
        passed_or_raise(judge_put_back(pool))
    patch = changes_to(pool, container, params["image"], params["strategy"], writer_of(task))
    if patch is None:
        return _unchanged(pool, container, Verdict())
    passed_or_raise(judge_deployer(pool, params["allow_field_managers"]))
    reasons = (_void(pool, undo),) if undo is not None and not holds(undo, pool) else ()
    return _patched(task, client, pool, container, patch, reasons)


def _restore_named(task: Task, client: KubernetesClient, writers: Writers, name: str) -> Outcome:
    return _restore(task, client, writers, get_stateful_set(client, task.params["namespace"], name))


def _restore_own(task: Task, client: KubernetesClient, writers: Writers, name: str) -> Outcome:
    pool = get_stateful_set(client, task.params["namespace"], name)
    undo = carried_undo(pool)
    theirs = writers.left_to(undo.writer, f"StatefulSet {name}") if undo else None
    return _unchanged(pool, "", Verdict((theirs,))) if theirs else _restore(task, client, writers, pool)


def _restore_all(task: Task, client: KubernetesClient, writers: Writers, done: dict[str, Outcome]) -> Outcome:
    """Restore every pool of the namespace that carries an undo of this cluster; `before` and `after` are by pool.

    Each is tried even if another fails. `done` keeps the outcomes from before the API became unreachable.
    """
    carrying = [s.name for s in list_stateful_sets(client, task.params["namespace"]) if UNDO in s.annotations]
    settled = {name for name, outcome in done.items() if outcome.verdict.state is not State.WAITING}
    for name in (each for each in carrying if each not in settled):
        try:
            done[name] = until_unchanged(partial(_restore_own, task, client, writers, name), ATTEMPTS)
        except Unreachable:
            raise
        except Refusal as error:
            done[name] = Outcome(error.verdict)
    return Outcome(
        combine(each.verdict for each in done.values()),
        changed=any(each.changed for each in done.values()),
        before={name: each.before for name, each in done.items()},
        after={name: each.after or {} for name, each in done.items()},
    )


def _restore(task: Task, client: KubernetesClient, writers: Writers, pool: StatefulSet) -> Outcome:
    undo = carried_undo(pool)
    if undo is None:
        return _unchanged(pool, "", Verdict())
    writers.judge(undo.writer)
    if not holds(undo, pool):
        back = pool.update_strategy == undo.changes[0].was
        reasons = () if back else (_void(pool, undo),)
        return _patched(task, client, pool, "", patch_back(pool, undo), reasons)
    why = _not_yet(client, pool)
    if why:
        return _unchanged(pool, "", Verdict(why))
    return _patched(task, client, pool, "", patch_back(pool, undo), (), undo)


def _not_yet(client: KubernetesClient, pool: StatefulSet) -> tuple[Reason, ...]:
    """The reasons for which the strategy must stay. RollingUpdate would replace pods of another revision.

    Pods that are on their way to the wanted revision are waited for. If something else has put the image back, no roll
    can end, so that is refused.
    """
    revision = judge_revision(pool)
    if not revision.passed:
        return revision.reasons[:1]
    pods = pods_of(client, pool)
    left = unsettled(pool, pods)
    if not left:
        return ()
    stays = pool.strategy if pool.strategy == "OnDelete" else f"at partition {pool.partition}"
    said = f"StatefulSet {pool.name} stays {stays}: pods are not Ready on its revision yet ({', '.join(left)})."
    outdated = [name for name in left if name in pods and not pod_is_current(pool, pods[name])]
    if not outdated:
        return (waiting("strategy_waits", said, "Bring these pods back, so that its strategy can be put back."),)
    kept = remark(
        "strategy_kept",
        said,
        "Run the upgrade again (after an abort, resume it first): it replaces these pods, and puts the strategy back.",
    )
    return (*judge_put_back(pool).reasons, kept)


def _void(pool: StatefulSet, undo: Undo) -> Reason:
    return remark(
        "strategy_changed_by_another",
        f"Something else changed the strategy of StatefulSet {pool.name} after run"
        f" {undo.writer.run or 'without a name'} had set {undo.changes[0].set_to['type']}."
        " The strategy is left as it is now.",
    )


def _patched(
    task: Task,
    client: KubernetesClient,
    pool: StatefulSet,
    container: str,
    patch: dict[str, Any],
    reasons: tuple[Reason, ...],
    restored: Undo | None = None,
) -> Outcome:
    if not task.check_mode:
        task.still_wanted()
    fields = sorted({*patch.get("spec", {}), *patch["metadata"].get("annotations", {})})
    shown = [FIELDS.get(each, each) for each in fields]
    action = "restored" if task.params["state"] == "restored" and "strategy" in shown else "patch_stateful_set"
    with task.journal.doing((action, pool.name, {"set": shown})):
        answer = client.patch(path_of(pool.namespace, pool.name), patch, "strategic", dry_run=task.check_mode)
    after = stateful_set(answer)
    if restored is not None and after.update_strategy != restored.changes[0].was:
        inexact = f"The API server did not take back the strategy of StatefulSet {pool.name} exactly as it was."
        reasons = (*reasons, remark("strategy_not_exact", inexact, "Compare before and after in the result."))
    return Outcome(
        Verdict(reasons),
        changed=True,
        before=_state_of(pool, container),
        after=_state_of(after, container),
        next="Replace the pods batch by batch (pod_ondelete_roll)." if task.params["state"] == "present" else "",
    )


def _unchanged(pool: StatefulSet, container: str, verdict: Verdict) -> Outcome:
    shown = _state_of(pool, container)
    return Outcome(verdict, before=shown, after=shown)


def _state_of(pool: StatefulSet, container: str) -> dict[str, Any]:
    images = {container: pool.images[container]} if container in pool.images else dict(pool.images)
    return {"images": images, "strategy": dict(pool.update_strategy), "undo": pool.annotations.get(UNDO, "")}
