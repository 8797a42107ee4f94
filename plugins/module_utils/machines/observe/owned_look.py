"""A look at the Machines of a management cluster, from JSON to observations."""

from __future__ import annotations

from typing import Any

from ...common.reading import Json, flag, listed, part, text, text_map, within
from ...extra_machines.observe.look import ClusterApi
from ...extra_machines.observe.state import CLUSTER_LABEL, DEPLOYMENT_NAME
from ...kubernetes.answers import reading_object
from ...kubernetes.conditions import conditions
from ...kubernetes.reference import ObjectReference, reference_in
from ...run.undo.undo_annotation import carried_undo
from .owned_machines import IN_PLACE, SKIP_REMEDIATION, TASK_MARK, OwnedMachine, is_mark
from .upgrade_tasks import BOOTSTRAP, INFRASTRUCTURE


def owned_machine(item: dict[str, Any]) -> OwnedMachine:
    """One Machine.

    Raises:
        Refusal: it, or the undo that it carries, cannot be read.
    """
    with reading_object("Machine", item):
        metadata, status = part(item, "metadata"), part(item, "status", {})
        notes = text_map(metadata, "annotations")
        return OwnedMachine(
            namespace=text(metadata, "namespace"),
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            kubernetes_node=within(status, "nodeRef", lambda node: text(node, "name", ""), {}),
            going=bool(text(metadata, "deletionTimestamp", "")),
            mark=notes.get(TASK_MARK, ""),
            skip=notes.get(SKIP_REMEDIATION),
            undo=carried_undo(item, is_mark),
            # In v1beta1 of the API some are only below `v1beta2`, such as ExternallyRemediated.
            conditions={**conditions(part(status, "v1beta2", {})), **conditions(status)},
            updated_in_place=IN_PLACE in notes,
            cluster=within(item, "spec", lambda spec: text(spec, "clusterName", ""), {}),
            controller=next(iter(_controllers(metadata)), ("", "")),
            deployment=text_map(metadata, "labels").get(DEPLOYMENT_NAME, ""),
            version=within(item, "spec", lambda spec: text(spec, "version", ""), {}),
            references=within(item, "spec", lambda spec: _references(spec, text(metadata, "namespace")), {}),
        )


def _references(spec: Json, namespace: str) -> dict[str, ObjectReference]:
    found = {
        BOOTSTRAP: part(part(spec, "bootstrap", {}), "configRef", {}),
        INFRASTRUCTURE: part(spec, "infrastructureRef", {}),
    }
    return {name: reference_in(each, namespace) for name, each in found.items() if each}


def _controllers(metadata: Json) -> list[tuple[str, str]]:
    owners = listed(metadata, "ownerReferences", dict, ())
    return [(text(each, "kind", ""), text(each, "name")) for each in owners if flag(each, "controller", default=False)]


def machines_in(api: ClusterApi, namespace: str, label_selector: str | None = None) -> list[OwnedMachine]:
    """The Machines in a namespace.

    Raises:
        Refusal: they cannot be had or understood.
    """
    return [owned_machine(each) for each in api.client.list(api.machine_path(namespace), label_selector)]


def owned_machines(api: ClusterApi, namespace: str, cluster: str) -> dict[str, OwnedMachine]:
    """The Machines of a Cluster by their Kubernetes nodes, without those that have none.

    Raises:
        Refusal: they cannot be had or understood.
    """
    found = machines_in(api, namespace, f"{CLUSTER_LABEL}={cluster}")
    # Of two with one Kubernetes node the one that stays counts.
    there = sorted((each for each in found if each.kubernetes_node), key=lambda each: not each.going)
    return {each.kubernetes_node: each for each in there}
