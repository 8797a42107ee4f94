"""Making a StatefulSet again with larger claim templates, while its pods stay.

It is deleted with orphan propagation, so that the garbage collector only takes its pods' owner away, and made again
from its manifest. The set takes pods without a controller over that match its selector. Its revision is that of the pod
template alone, so no pod is replaced (server source, stateful_set_utils.go, getPatch; seen on 1.36). It starts under
OnDelete all the same, and gets its own strategy back once the revision is seen to be the same.

The manifest is kept before the deletion (`kept_sets`), and forgotten after the set was looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..common.attempts import until_unchanged
from ..common.errors import Conflict, Refusal, refusal
from ..common.task import Task, passed_or_raise
from ..common.verdict import Reason, Verdict, as_verdict, combine, refused, waiting
from ..common.waiting import Patience
from ..common.words import enumerate_few
from ..kubernetes.answers import NameTaken, NotAdmitted
from ..kubernetes.client import FIELD_MANAGER, Json, KubernetesClient
from ..kubernetes.owners import judge_owned
from ..kubernetes.pods import list_pods
from ..kubernetes.state import Pod, StatefulSet
from ..kubernetes.stateful_sets import path_of, stateful_set
from ..run.lock.lock_watch import Writers, writer_of
from ..run.undo.temporary_changes import ATTEMPTS
from .judge import judge_revision
from .kept_sets import KeptSet, as_first_made, config_map, kept_path, kept_sets, left_by, made_by, manifest_of
from .volume_sizes import GrowingPool, WantedSize, template_bytes, templates_of

PATIENCE = 300.0
"""Seconds to wait for the garbage collector and the controller of StatefulSets."""
PAUSE = 0.5
MADE = "made_set_again"
"""The act with which the set is there again."""


def judge_remade(client: KubernetesClient, pool: GrowingPool) -> Verdict:
    """Whether the server would admit the set as it is to be, and its pods show that it may be made again.

    It has the name of the present one; names are compared last.

    Raises:
        Unreachable: no answer came.
    """
    shown = _judge_shown(client, pool.found)
    if not shown.passed:
        return shown
    try:
        client.post(path_of(pool.pool.namespace), as_first_made(manifest_of(pool.found, pool.wanted)), dry_run=True)
    except NameTaken:
        pass
    except (Conflict, NotAdmitted) as error:
        said = getattr(error, "said", "") or error.verdict.reasons[0].message
        reason = refused(
            "volume_set_not_admitted",
            f"If StatefulSet {pool.pool.name} is deleted, it cannot be made again with the larger claim template,"
            f" because namespace {pool.pool.namespace} does not admit it: {said.rstrip('.')}.",
            "Change what it names, so that the set is admitted; then run again.",
        )
        return Verdict((reason,))
    return Verdict()


def _judge_shown(client: KubernetesClient, found: Mapping[str, Any]) -> Verdict:
    """Whether a pod will show, once the set is deleted, that the manifest which is kept is its own."""
    pool = stateful_set(dict(found))
    pods = list_pods(client, pool.namespace)
    if made_by(pool, found, pods):
        return _judge_partition(pool, pods)
    reason = refused(
        "volume_set_without_pods",
        f"StatefulSet {pool.name} has to be deleted and made again for its larger claim template, and no pod with the"
        " containers and the ServiceAccount of its pod template would then show that its manifest is its own.",
        "If its pods are behind the template, upgrade without volumes (upgrade_volumes) first; if it has none, scale it"
        " up, or leave it out of volumes.",
    )
    return Verdict((reason,))


@as_verdict
def _judge_partition(pool: StatefulSet, pods: Iterable[Pod]) -> Iterator[Reason]:
    """Whether no partition keeps pods on a former revision. That is in the status of the set alone: the controller
    makes the pods below the partition of a set that was made again from its present template (server source,
    stateful_set_control.go, getStatefulSetRevisions)."""
    names = pool.member_names() if pool.strategy == "RollingUpdate" else ()
    kept = [each.name for each in pods if each.name in names and pool.place(each.name) < pool.partition]
    behind = [each.name for each in pods if each.name in kept and each.revision != pool.update_revision]
    if behind:
        yield refused(
            "volume_set_partition",
            f"StatefulSet {pool.name} has to be deleted and made again for its larger claim template, and its partition"
            f" {pool.partition} keeps {enumerate_few(behind)} on a former revision. The set that is made again does not"
            " know that revision: one of these pods that is deleted would come back from the present pod template.",
            "Upgrade without volumes (upgrade_volumes) first, or bring these pods to the present template; then run"
            " again. Or leave the set out of volumes.",
        )


def remake(task: Task, client: KubernetesClient, namespace: str, name: str, wanted: tuple[WantedSize, ...]) -> Verdict:
    """Make a set again with larger claim templates. The verdict is refused if it could not be seen to be the same.

    Raises:
        Refusal: it is not there, or the server refuses an act.
    """
    if task.check_mode:
        task.act(MADE, f"StatefulSet {name}", lambda: None)
        return Verdict()
    kept = task.ask(lambda: until_unchanged(lambda: _deleted(task, client, namespace, name, wanted), ATTEMPTS))
    return Verdict() if kept is None else finish(task, client, namespace, kept)


def _deleted(
    task: Task, client: KubernetesClient, namespace: str, name: str, wanted: tuple[WantedSize, ...]
) -> KeptSet | None:
    """The set once its deletion has started; None if there is nothing to do."""
    found = client.get(path_of(namespace, name))
    if found is None:
        kept = _kept(client, namespace, name)
        if kept is not None:
            # The answer to the deletion was lost.
            return kept
        said = f"StatefulSet {name} of namespace {namespace} is gone, and this run has not deleted it."
        raise refusal("volume_unknown", said, "Find out who has deleted it, apply its manifest, and run again.")
    sizes = {each["metadata"]["name"]: template_bytes(each) for each in templates_of(found)}
    if all(sizes.get(each.claim, each.bytes) >= each.bytes for each in wanted):
        return None
    passed_or_raise(_judge_shown(client, found))
    manifest = manifest_of(found, wanted)
    _keep(task, client, namespace, config_map(name, writer_of(task), found, manifest))
    kept = _kept(client, namespace, name)
    if kept is None:
        said = f"The manifest of StatefulSet {name} was kept in a ConfigMap and is not found there, so the set stays."
        raise refusal("volume_set_not_kept", said, "Find out who removes ConfigMaps there, and run again.")
    metadata = found["metadata"]
    delete = partial(
        client.delete,
        path_of(namespace, name),
        metadata["uid"],
        resource_version=metadata["resourceVersion"],
        propagation="Orphan",
    )
    task.act("deleted_set", f"StatefulSet {name}", delete)
    return kept


def _kept(client: KubernetesClient, namespace: str, name: str) -> KeptSet | None:
    return next((each for each in kept_sets(client, namespace) if each.name == name), None)


def _keep(task: Task, client: KubernetesClient, namespace: str, body: Json) -> None:
    """Write the ConfigMap, over one of a run that went no further."""
    name = body["metadata"]["name"]
    path = f"{kept_path(namespace)}/{name}"
    there = client.get(path)
    if there is None:
        task.act("kept_set", f"ConfigMap {name}", partial(client.post, kept_path(namespace), body))
        return
    guard = {"uid": there["metadata"]["uid"], "resourceVersion": there["metadata"]["resourceVersion"]}
    over = {**body, "metadata": {**body["metadata"], **guard}}
    task.act("kept_set", f"ConfigMap {name}", partial(client.patch, path, over, "merge"))


@dataclass
class _RemadeLook:
    """A set that is being made again, with the pods of its namespace."""

    pool: StatefulSet | None = None
    found: Mapping[str, Any] = field(default_factory=dict)
    pods: tuple[Pod, ...] = ()


def finish(task: Task, client: KubernetesClient, namespace: str, kept: KeptSet) -> Verdict:
    """Make a set that was deleted, follow it until it has taken its pods over, and forget its manifest.

    Raises:
        Refusal: the server refuses an act, or nothing says that the manifest is that of a set which was there.
    """
    path = path_of(namespace, kept.name)

    def look() -> _RemadeLook:
        found = client.get(path)
        pods = list_pods(client, namespace)
        if found is None:
            _make(task, client, namespace, kept, pods)
            found = client.get(path)
        return _RemadeLook(stateful_set(found) if found is not None else None, found or {}, pods)

    seen, verdict = task.wait_apart(look, partial(_judge_made, kept), Patience(PATIENCE, PAUSE))
    if not verdict.passed or seen.pool is None:
        return verdict
    for step in (_own_strategy, _own_managers):
        task.ask(partial(until_unchanged, partial(step, task, client, path, kept), ATTEMPTS))
    task.ask(lambda: _forget(task, client, namespace, kept))
    return verdict


def _make(task: Task, client: KubernetesClient, namespace: str, kept: KeptSet, pods: tuple[Pod, ...]) -> None:
    if not left_by(kept, pods):
        raise refusal(
            "volume_set_not_known",
            f"StatefulSet {kept.name} is missing, and no pod of it is left that shows that the manifest in ConfigMap"
            f" {kept_path(namespace, kept.name).rpartition('/')[2]} is its own.",
            "Compare the manifest there with yours, apply it by hand, and delete the ConfigMap.",
        )
    try:
        task.act(
            MADE, f"StatefulSet {kept.name}", partial(client.post, path_of(namespace), as_first_made(kept.manifest))
        )
    except NameTaken:
        # Someone else was faster, or the answer to an earlier request was lost.
        return


def _judge_made(kept: KeptSet, look: _RemadeLook) -> Verdict:
    """Whether the set is there, has its former revision, and controls its pods."""
    pool = look.pool
    if pool is None or look.found["metadata"].get("deletionTimestamp"):
        said = f"StatefulSet {kept.name} is being deleted, to be made again with larger claim templates."
        remedy = "If this lasts, check that kube-controller-manager runs: its garbage collector removes the owner."
        return Verdict((waiting("volume_set_remaking", said, remedy),))
    if pool.uid == kept.found["metadata"]["uid"]:
        # The run was killed before its deletion.
        return Verdict()
    return combine((judge_revision(pool), judge_owned(pool, look.pods), Verdict(tuple(_of_revision(kept, pool)))))


def _of_revision(kept: KeptSet, pool: StatefulSet) -> list[Reason]:
    """The refusal of a set whose pods would be replaced; empty for a set that someone else has made."""
    if pool.update_revision in (None, kept.revision) or not kept.revision or not _is_ours(kept, pool):
        return []
    return [
        refused(
            "volume_set_revision",
            f"StatefulSet {kept.name} was made again, and its revision is {pool.update_revision} where it was"
            f" {kept.revision}. It stays under OnDelete, so that no pod is replaced.",
            "Compare its pod template with the ControllerRevisions, set its strategy by hand, and delete ConfigMap"
            f" {kept_path(pool.namespace, kept.name).rpartition('/')[2]}.",
        )
    ]


def _is_ours(kept: KeptSet, pool: StatefulSet) -> bool:
    """Whether the set is as the run has made it, with a strategy that it has to get back."""
    return pool.strategy == "OnDelete" and pool.uid != kept.found["metadata"]["uid"] and _strategy(kept) != "OnDelete"


def _strategy(kept: KeptSet) -> str:
    return str((kept.manifest["spec"].get("updateStrategy") or {}).get("type") or "RollingUpdate")


def _own_strategy(task: Task, client: KubernetesClient, path: str, kept: KeptSet) -> None:
    """Give the set the strategy back that it had."""
    found = client.get(path)
    if found is None or not _is_ours(kept, stateful_set(found)):
        return
    guard = {"uid": found["metadata"]["uid"], "resourceVersion": found["metadata"]["resourceVersion"]}
    body = {"metadata": guard, "spec": {"updateStrategy": kept.manifest["spec"]["updateStrategy"]}}
    task.act("restored_strategy", f"StatefulSet {kept.name}", partial(client.patch, path, body, "merge"))


def _own_managers(task: Task, client: KubernetesClient, path: str, kept: KeptSet) -> None:
    """Give its fields back to the managers that had them, so that the next apply of these finds no conflict.

    The server ignores the managers of an object that is created, and takes those of one that is changed (server source,
    managedfields/internal/fieldmanager.go, Update; seen on 1.36).
    """
    found, before = client.get(path), kept.found["metadata"].get("managedFields") or []
    if found is None or not before or set(stateful_set(found).managers) != {FIELD_MANAGER}:
        return
    now = found["metadata"].get("managedFields") or []
    fields = [
        *(each for each in before if not each.get("subresource")),
        *(each for each in now if each.get("subresource")),
    ]
    guard = {"uid": found["metadata"]["uid"], "resourceVersion": found["metadata"]["resourceVersion"]}
    body = {"metadata": {**guard, "managedFields": fields}}
    task.act("restored_managers", f"StatefulSet {kept.name}", partial(client.patch, path, body, "merge"))


def _forget(task: Task, client: KubernetesClient, namespace: str, kept: KeptSet) -> None:
    path = kept_path(namespace, kept.name)
    forget = partial(client.delete, path, kept.uid)
    task.act("forgot_set", f"ConfigMap {path.rpartition('/')[2]}", forget)


def finish_all(task: Task, client: KubernetesClient, namespace: str, writers: Writers) -> Verdict:
    """Finish every set of the namespace that a run has started to make again; each is tried even if another fails.

    Those of other clusters are left to their runs.

    Raises:
        Refusal: the ConfigMaps cannot be read.
    """
    found = list[Verdict]()
    for kept in task.ask(lambda: kept_sets(client, namespace)):
        if theirs := writers.left_to(kept.writer, f"StatefulSet {kept.name}, which is made again,"):
            found.append(Verdict((theirs,)))
            continue
        if task.check_mode:
            task.act(MADE, f"StatefulSet {kept.name}", lambda: None)
            continue
        try:
            writers.judge(kept.writer)
            found.append(finish(task, client, namespace, kept))
        except Refusal as error:
            found.append(task.verdict_of(error))
    return combine(found)
