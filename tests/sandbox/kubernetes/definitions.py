"""CustomResourceDefinitions as their controllers treat them: established at once, and gone with all their objects."""

from __future__ import annotations

from tests.sandbox.kubernetes.kinds import DEFINITIONS, Kinds
from tests.sandbox.kubernetes.objects import Json, timestamp
from tests.sandbox.kubernetes.resources import Resources, Writing
from tests.sandbox.kubernetes.store import Store

_SAID = (
    ("NamesAccepted", "NoConflicts", "no conflicts found"),
    ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
)


def establish(resources: Resources, name: str) -> None:
    """Write that a definition is served, if it is still there."""
    if resources.store.get(DEFINITIONS, "", name) is None:
        return
    now = timestamp(resources.store.clock.now())

    def change(item: Json) -> None:
        conditions = [
            {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
            for kind, reason, message in _SAID
        ]
        stored = [each["name"] for each in item["spec"]["versions"] if each.get("storage")]
        names = dict(item["spec"]["names"])
        item["status"] = {"conditions": conditions, "acceptedNames": names, "storedVersions": stored}

    resources.change(DEFINITIONS, "", name, change, Writing(manager="kube-apiserver", subresource="status"))


def remove_all(store: Store, kinds: Kinds, definition: Json) -> None:
    """Remove every object of the kind that a definition described."""
    spec = definition["spec"]
    for kind in [each for each in kinds if each.key == (spec["group"], spec["names"]["plural"])]:
        for item in store.list(kind):
            store.remove(kind, item)
