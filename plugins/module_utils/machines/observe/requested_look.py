"""One look at the objects of Cluster API that an UpgradeTask names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...common.errors import Denied
from ...common.reading import part, text
from ...extra_machines.observe.look import ClusterApi
from ...extra_machines.observe.state import GROUP
from ...kubernetes.answers import reading_object
from ...kubernetes.client import KubernetesClient
from ...kubernetes.reference import ObjectReference, reference_in
from ...kubernetes.references import FoundObject, object_of
from ...run.undo.undo import value_at
from .owned_look import machines_in
from .owned_machines import OwnedMachine
from .requested import OWNERS, VERSIONS, NamedObject, NamedUpgrader, RequestedObjects
from .upgrade_tasks import COMPARED, OBJECTS, SPECIFIED_VERSION, UPGRADE_TASK, UpgradeTaskState

_CLUSTER = "cluster"


def requested_objects(api: ClusterApi, seen: UpgradeTaskState, home: tuple[str, str] | None) -> RequestedObjects | None:
    """The Cluster, the owner and the Machines of a task; None if it names no owner or no Cluster can be found.

    A reference without a namespace is one to the namespace of the Cluster, and a task without a Cluster is about that
    of the Kubernetes nodes (`home`).

    Raises:
        Refusal: they cannot be had or understood.
    """
    with reading_object(UPGRADE_TASK, seen.raw):
        spec = part(seen.raw, "spec")
        fields = [name for name in OWNERS if spec.get(name)]
        named = part(spec, _CLUSTER, {})
        if len(fields) != 1 or not (named or home):
            return None
        given = part(spec, fields[0])
        around = home[0] if home else text(given, "namespace", "")
        at_home = {"namespace": home[0], "name": home[1]} if home else {}
        cluster = reference_in(named or at_home, around, GROUP, "Cluster")
        owner = reference_in(given, cluster.namespace, *OWNERS[fields[0]])
    return RequestedObjects(
        cluster=_seen(api, _CLUSTER, cluster),
        owner=_seen(api, fields[0], owner),
        machines={each.name: each for each in machines_in(api, owner.namespace)},
        home="/".join(home or ()),
    )


def requested_upgrader(client: KubernetesClient, seen: UpgradeTaskState, namespace: str) -> NamedUpgrader | None:
    """The template object that a task names; None without one.

    A reference without a namespace is one to that of the Cluster. Which right it takes depends on the kind, so one that
    may not be read counts as not looked for.

    Raises:
        Refusal: it cannot be had or understood.
    """
    if not seen.upgrader:
        return None
    with reading_object(UPGRADE_TASK, seen.raw):
        reference = reference_in(seen.upgrader, namespace)
    if not (reference.group and reference.kind and reference.namespace):
        return NamedUpgrader(reference, exists=False, unread="it gives no group, kind or namespace")
    try:
        return NamedUpgrader(reference, object_of(client, reference) is not None)
    except Denied:
        return NamedUpgrader(reference, exists=False, unread="this user may not get it")


def _seen(api: ClusterApi, field: str, found: ObjectReference) -> NamedObject:
    there = object_of(api.client, found)
    version = value_at(there.item, VERSIONS.get(field, ())) if there is not None else None
    given = version if isinstance(version, str) else ""
    return NamedObject(field, found, there is not None, given)


def present_of(
    client: KubernetesClient, machine: OwnedMachine, wanted: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, FoundObject]]:
    """The present specification of a Machine, as far as another one is wanted, and the objects in it.

    Each object is read in the version of the API that the wanted one has.

    Raises:
        Refusal: they cannot be had or understood.
    """
    found: dict[str, FoundObject] = {}
    for name in OBJECTS:
        reference = machine.references.get(name)
        if wanted.get(name) is None or reference is None:
            continue
        group, _slash, version = str(wanted[name].get("apiVersion") or "").rpartition("/")
        there = object_of(client, replace(reference, version=version if group == reference.group else ""))
        if there is not None:
            found[name] = there
    # Of a kind that is not given nothing else is wanted.
    objects = {
        name: {each: there.item.get(each) for each in COMPARED if each == "spec" or wanted[name].get(each)}
        for name, there in found.items()
    }
    return {SPECIFIED_VERSION: machine.version, **objects}, found
