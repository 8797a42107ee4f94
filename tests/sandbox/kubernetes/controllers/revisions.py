"""The revisions of a StatefulSet: its templates, each kept under a name."""

from __future__ import annotations

import hashlib
import json

from tests.sandbox.kubernetes.kinds import REVISIONS, STATEFUL_SETS
from tests.sandbox.kubernetes.objects import Json, controller_of, copied, owner_of
from tests.sandbox.kubernetes.resources import Resources
from tests.sandbox.kubernetes.store import letters


def revisions_of(resources: Resources, pool: Json) -> tuple[Json, Json]:
    """The current and the update revision; the latter is made where the template is a new one."""
    known = _known(resources, pool)
    data = {"spec": {"template": {**copied(pool["spec"]["template"]), "$patch": "replace"}}}
    newest = max((each["revision"] for each in known), default=0)
    update = next((each for each in known if each["data"] == data), None)
    if update is None:
        update = _make(resources, pool, data, newest + 1)
    elif update["revision"] < newest:
        update["revision"] = newest + 1
        update = resources.replace(REVISIONS, pool["metadata"]["namespace"], update["metadata"]["name"], update)
    name = pool.get("status", {}).get("currentRevision")
    current = next((each for each in known if each["metadata"]["name"] == name), update)
    return current, update


def forget_old(resources: Resources, pool: Json, used: set[str]) -> None:
    """Remove the oldest revisions that no pod has, beyond the limit."""
    unused = [each for each in _known(resources, pool) if each["metadata"]["name"] not in used]
    limit = pool["spec"].get("revisionHistoryLimit", 10)
    for each in sorted(unused, key=lambda one: int(one["revision"]))[: max(0, len(unused) - limit)]:
        resources.delete(REVISIONS, pool["metadata"]["namespace"], each["metadata"]["name"])


def template_of(revision: Json) -> Json:
    """The template of pods that a revision keeps."""
    template: Json = copied(revision["data"]["spec"]["template"])
    template.pop("$patch", None)
    return template


def _known(resources: Resources, pool: Json) -> list[Json]:
    found = resources.store.each(REVISIONS, pool["metadata"]["namespace"])
    return [each for each in found if (controller_of(each) or {}).get("uid") == pool["metadata"]["uid"]]


def _make(resources: Resources, pool: Json, data: Json, number: int) -> Json:
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    suffix = letters(int(digest, 16), 10)
    metadata = pool["metadata"]
    name = f"{metadata['name']}-{suffix}"
    labels = {**pool["spec"]["template"]["metadata"].get("labels", {}), "controller.kubernetes.io/hash": suffix}
    there = resources.store.get(REVISIONS, metadata["namespace"], name)
    if there is not None:
        # A set of that name was deleted, and its revisions were kept.
        owners = {"ownerReferences": [owner_of(STATEFUL_SETS, pool)], "labels": labels}
        there["metadata"] |= owners
        return resources.replace(REVISIONS, metadata["namespace"], name, {**there, "revision": number})
    body = {
        "metadata": {"name": name, "labels": labels, "ownerReferences": [owner_of(STATEFUL_SETS, pool)]},
        "data": data,
        "revision": number,
    }
    return resources.create(REVISIONS, metadata["namespace"], body)
