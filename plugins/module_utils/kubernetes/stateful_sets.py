"""Reading StatefulSets, and a whole namespace: its sets, and its pods of any owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..common.errors import NotUnderstood, Refusal
from ..common.reading import Json as Part
from ..common.reading import flag, listed, one_of, optional_text, part, text, text_map, texts, whole, within
from .answers import images_of, name_in, reading_object
from .client import Json, KubernetesClient
from .owners import missing
from .paths import in_namespace
from .pods import list_pods, pod, pod_path
from .state import Namespace, Owner, Pod, StatefulSet, Unread


def path_of(namespace: str, name: str = "") -> str:
    """The path of a StatefulSet, or of all StatefulSets in the namespace."""
    return in_namespace("/apis/apps/v1", namespace, "statefulsets", name)


def list_stateful_sets(
    client: KubernetesClient, namespace: str, label_selector: str | None = None
) -> tuple[StatefulSet, ...]:
    """The StatefulSets of a namespace that match the label selector, by name."""
    found = client.list(path_of(namespace), label_selector=label_selector)
    return tuple(sorted((stateful_set(item) for item in found), key=lambda each: each.name))


def get_stateful_set(client: KubernetesClient, namespace: str, name: str) -> StatefulSet:
    """One StatefulSet.

    Raises:
        Refusal: it does not exist, or the answer cannot be had.
    """
    item = client.get(path_of(namespace, name))
    if item is None:
        raise Refusal(missing(namespace, name, _pods_left(client, namespace)))
    return stateful_set(item)


def observe_namespace(client: KubernetesClient, namespace: str) -> Namespace:
    """The StatefulSets and pods of a namespace now, in two calls.

    Pods are asked for after the sets: a pod that names a set of this look as its owner then belongs to that set. Most
    pods may be strangers, so one that cannot be read is kept apart; the judging code says which ones matter.
    """
    sets = list_stateful_sets(client, namespace)
    read: list[Pod] = []
    unread: list[Unread] = []
    for item in client.list(pod_path(namespace)):
        try:
            read.append(pod(item))
        except NotUnderstood as error:
            unread.append(_unread(item, error))
    return Namespace(namespace, sets, tuple(read), tuple(unread))


def _unread(item: Json, error: NotUnderstood) -> Unread:
    """The pod with its name, its address and the error. A pod without a name may be any, so the error is raised."""
    name, status = name_in(item), item.get("status")
    address = status.get("podIP") if isinstance(status, dict) else None
    if not name:
        raise error
    return Unread(name, address if isinstance(address, str) else "", error)


def named_in(seen: Namespace, name: str) -> StatefulSet:
    """One StatefulSet of a namespace.

    Raises:
        Refusal: it does not exist.
    """
    for each in seen.sets:
        if each.name == name:
            return each
    raise Refusal(missing(seen.name, name, seen.pods))


def observe_pools(
    client: KubernetesClient, namespace: str, names: Iterable[str]
) -> tuple[Namespace, tuple[StatefulSet, ...]]:
    """A namespace with these StatefulSets, each once, all of whose pods have to be read.

    Raises:
        Refusal: one of them does not exist, or the API gives no usable answer.
    """
    there = observe_namespace(client, namespace)
    pools = tuple(named_in(there, name) for name in dict.fromkeys(names))
    there.need({name for pool in pools for name in pool.member_names()})
    return there, pools


def _pods_left(client: KubernetesClient, namespace: str) -> tuple[Pod, ...]:
    """All pods of a namespace; none if the API does not give them, since they only explain."""
    try:
        return list_pods(client, namespace)
    except Refusal:
        return ()


def stateful_set(item: Json) -> StatefulSet:
    """The observation of an API object."""
    with reading_object("StatefulSet", item):
        metadata, spec, status = part(item, "metadata"), part(item, "spec"), part(item, "status", {})
        template = within(spec, "template", lambda template: part(template, "spec"))
        listed(template, "volumes", _name, ())
        fields = listed(metadata, "managedFields", dict, ())
        return StatefulSet(
            namespace=text(metadata, "namespace"),
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            resource_version=text(metadata, "resourceVersion"),
            generation=whole(metadata, "generation", 0),
            observed_generation=whole(status, "observedGeneration", 0) if "observedGeneration" in status else None,
            replicas=whole(spec, "replicas", 1),
            first_ordinal=within(spec, "ordinals", lambda ordinals: whole(ordinals, "start", 0), {}),
            update_strategy=_strategy(part(spec, "updateStrategy", {})),
            pod_management_policy=text(spec, "podManagementPolicy", "") or "OrderedReady",
            selector=within(spec, "selector", selector_text),
            update_revision=optional_text(status, "updateRevision"),
            images=images_of(template, "containers"),
            init_images=images_of(template, "initContainers"),
            owner=controlling_owner(metadata),
            labels=text_map(metadata, "labels"),
            annotations=text_map(metadata, "annotations"),
            managers=tuple(dict.fromkeys(text(each, "manager", "") for each in fields if not each.get("subresource"))),
            claims=listed(spec, "volumeClaimTemplates", lambda each: within(each, "metadata", _name), ()),
            has_readiness_probe=any(listed(template, "containers", _has_probe, ())),
            template=template,
            template_marks=within(spec, "template", _marks),
            fields=tuple(each for each in fields if not each.get("subresource")),
            service_name=text(spec, "serviceName", ""),
            min_ready_seconds=whole(spec, "minReadySeconds", 0),
            available=whole(status, "availableReplicas", 0),
        )


def _name(of: Part) -> str:
    return text(of, "name")


def _marks(template: Part) -> dict[str, dict[str, str]]:
    return within(
        template, "metadata", lambda marks: {key: text_map(marks, key) for key in ("labels", "annotations")}, {}
    )


def _has_probe(container: Part) -> bool:
    """Whether there is a readiness probe. Mounts and variables are read, too, so that a fault in them is found here."""
    listed(container, "volumeMounts", lambda each: (text(each, "name"), text(each, "mountPath")), ())
    listed(container, "env", lambda each: (text(each, "name"), text(each, "value", "")), ())
    return bool(container.get("readinessProbe"))


def _strategy(found: Part) -> Part:
    """The strategy as it is, checked: its type is a known one, and its partition a number."""
    kind = one_of({"type": "RollingUpdate", **found}, "type", ("OnDelete", "RollingUpdate"))
    within(found, "rollingUpdate", lambda rolling: whole(rolling, "partition", 0), {})
    return {"type": kind, **found}


def controlling_owner(metadata: Mapping[str, Any]) -> Owner | None:
    """The owner that controls an object, else its first owner, else None."""
    owners = listed(metadata, "ownerReferences", _owner, ())
    return next((each for each in owners if each.controller), owners[0] if owners else None)


def _owner(each: Part) -> Owner:
    return Owner(
        text(each, "kind"), text(each, "name"), text(each, "apiVersion"), flag(each, "controller", default=False)
    )


def selector_text(selector: Mapping[str, Any]) -> str:
    """A LabelSelector in the form of the query parameter `labelSelector`."""
    equal = [f"{key}={value}" for key, value in text_map(selector, "matchLabels").items()]
    return ",".join((*equal, *listed(selector, "matchExpressions", _requirement, ())))


def _requirement(each: Part) -> str:
    key, values = text(each, "key"), ",".join(texts(each, "values", ()))
    forms = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key, "DoesNotExist": f"!{key}"}
    return forms[one_of(each, "operator", forms)]
