"""Writing configurations into the Secret of a pool, and deleting Secrets that no pod uses.

Each write is one request, only valid for the version that was read, and keeps the former content. A journal, a sentence
or a refusal has names and checksums, and never a content.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from ...common.attempts import until_unchanged
from ...common.errors import Conflict, Denied
from ...common.task import Task, passed_or_raise
from ...common.timestamps import timestamp_text
from ...common.verdict import Reason, Verdict, remark
from ...kubernetes.client import Json, KubernetesClient
from ...run.lock.lease import MANAGED_BY
from ..judge.configuration import (
    Data,
    Due,
    Upkeep,
    checksum,
    judge_writing,
    keys_to_remove,
    upkeep,
    with_contents,
    without_previous,
)
from ..judge.configuration_diff import names_of
from ..observe.secrets import list_secrets, read_secret, secret_path, used_secrets
from ..observe.state import POOL, PREVIOUS, UNUSED_SINCE, ConfigurationSecret

ATTEMPTS = 10
"""Conflicts in a row before a write is given up."""

Contents = Mapping[str, bytes]
Make = Callable[["ConfigurationSecret | None"], Data]
"""The keys to write, from the Secret as it is now."""


@dataclass(frozen=True)
class Place:
    """The Secret with the configurations of one pool."""

    namespace: str
    name: str
    pool: str


def add_missing(task: Task, client: KubernetesClient, place: Place, contents: Contents) -> bool:
    """Give each member that has no key its content, in a Secret that is made if there is none. No key is changed.

    This comes before a pod that mounts the Secret. The result says whether there was anything to do.
    """

    return _write(task, client, place, partial(_missing, contents), "changed")


def judge_adding(client: KubernetesClient, place: Place, contents: Contents) -> Verdict:
    """Whether the contents of members without a key can be written."""
    secret = read_secret(client, place.namespace, place.name)
    data = _missing(contents, secret)
    return judge_writing(place.name, secret, place.pool, data) if data else Verdict()


def _missing(contents: Contents, secret: ConfigurationSecret | None) -> Data:
    present = secret.contents if secret else {}
    return {name: content for name, content in contents.items() if name not in present}


def write(task: Task, client: KubernetesClient, place: Place, contents: Contents) -> bool:
    """Give these members these contents, and keep what they ran before. Other members keep theirs.

    This comes once the processes of these members are stopped.
    """

    def replaced(secret: ConfigurationSecret | None) -> Data:
        return with_contents(secret, contents) if secret else dict(contents)

    return _write(task, client, place, replaced, "changed")


def complete(task: Task, client: KubernetesClient, place: Place, members: Collection[str]) -> bool:
    """Forget what these members had before the run."""
    return _write(task, client, place, lambda secret: without_previous(secret, members) if secret else {}, "changed")


def remove_unwanted(
    task: Task, client: KubernetesClient, place: Place, wanted: Collection[str], pods: Collection[str]
) -> bool:
    """Remove the keys of members that are not wanted, once their pod is gone. `pods` are those that exist."""

    def unwanted(secret: ConfigurationSecret | None) -> Data:
        if secret is None:
            return {}
        gone = keys_to_remove(secret.contents, wanted, pods)
        return {key: None for name in gone for key in (name, name + PREVIOUS) if key in secret.data}

    return _write(task, client, place, unwanted, "removed")


def _write(task: Task, client: KubernetesClient, place: Place, make: Make, action: str) -> bool:
    """Write the keys that `make` gives for the Secret as it is, in one request that fails if it has changed since.

    Raises:
        Refusal: the Secret is someone else's, cannot be changed or would be too large, or the write was not made.
    """

    def attempt() -> bool:
        secret = read_secret(client, place.namespace, place.name)
        data = make(secret)
        if not data:
            return False
        passed_or_raise(judge_writing(place.name, secret, place.pool, data))
        if not task.check_mode:
            task.still_wanted()
        with task.journal.doing((action, f"Secret {place.name}", {"members": _shown(secret, data)})):
            if secret is None:
                client.post(secret_path(place.namespace), _new(place, data), dry_run=task.check_mode)
            else:
                client.patch(secret_path(place.namespace, place.name), _over(secret, data), "merge", task.check_mode)
        return True

    return until_unchanged(attempt, ATTEMPTS)


def _new(place: Place, data: Data) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {"name": place.name, "labels": {**MANAGED_BY, POOL: place.pool}},
        "data": _encoded(data),
    }


def _over(secret: ConfigurationSecret, data: Data) -> Json:
    notes = {"annotations": {UNUSED_SINCE: None}} if secret.unused_since else {}
    return {"metadata": {"resourceVersion": secret.resource_version, **notes}, "data": _encoded(data)}


def _encoded(data: Data) -> dict[str, str | None]:
    return {key: None if each is None else base64.b64encode(each).decode() for key, each in data.items()}


def _shown(secret: ConfigurationSecret | None, data: Data) -> dict[str, dict[str, Any]]:
    """The members whose content is written, each with its checksum and the names of the settings that change."""
    present = secret.contents if secret else {}
    shown: dict[str, dict[str, Any]] = {}
    for name in sorted({key.removesuffix(PREVIOUS) for key in data}):
        content = data.get(name)
        shown[name] = {} if content is None else {"checksum": checksum(content)}
        if content is not None and name in present:
            shown[name]["settings"] = names_of(present[name], content, name)
    return shown


def collect(task: Task, client: KubernetesClient, namespace: str, now: datetime) -> tuple[bool, tuple[Reason, ...]]:
    """Mark the Secrets with configurations that no pod uses, and delete those that none has used for long enough.

    The result says whether anything was done, and has a remark if the user may not see or delete Secrets.
    """
    try:
        found = list_secrets(client, namespace)
        dues = upkeep(found, used_secrets(client, namespace), now) if found else ()
        made = [_keep_up(task, client, each, now) for each in dues]
        return any(made), ()
    except Denied as error:
        return False, (
            remark(
                "configurations_not_collected",
                f"Secrets with configurations that no pod uses are not collected: {error.verdict.reasons[0].message}",
                error.verdict.reasons[0].remedy,
            ),
        )


def _keep_up(task: Task, client: KubernetesClient, due: Due, now: datetime) -> bool:
    """Make the step that is due for one Secret. If it has changed since, the next run looks again."""
    secret, path = due.secret, secret_path(due.secret.namespace, due.secret.name)
    if due.step is Upkeep.LEAVE:
        return False
    if not task.check_mode:
        task.still_wanted()
    try:
        if due.step is Upkeep.COLLECT:
            with task.journal.doing(("removed", f"Secret {secret.name}", {"unused_since": secret.unused_since})):
                client.delete(path, secret.uid, dry_run=task.check_mode, resource_version=secret.resource_version)
            return True
        since = timestamp_text(now) if due.step is Upkeep.MARK else None
        body = {"metadata": {"resourceVersion": secret.resource_version, "annotations": {UNUSED_SINCE: since}}}
        with task.journal.doing(("changed", f"Secret {secret.name}", {"unused_since": since or ""})):
            client.patch(path, body, "merge", dry_run=task.check_mode)
    except Conflict:
        return False
    return True
