"""The looks at the pods of machines: which controllers have Ready ones before a machine goes, and what is missing after
it. Each look is one list for each machine, and for what is still short of pods one object for each controller of
`apps/v1`, and one list for each namespace with other controllers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from ...common.reading import Json, part, whole, within
from ...draining.observe.placed_pods import PODS
from ...kubernetes.answers import reading_object
from ...kubernetes.client import KubernetesClient
from ...kubernetes.paths import in_namespace
from ...kubernetes.pods import list_pods, pod
from ...kubernetes.state import Pod
from ...kubernetes.stateful_sets import selector_text
from .ready_before import (
    APPS,
    DAEMON_SET,
    RESOURCES,
    Controller,
    MissingPods,
    ReadyBefore,
    UnreadyPod,
    kind_in,
    stays,
)

AT_ONCE = 8
"""The most controllers that are asked for at the same time."""
NAMED = 5
"""The controllers of a machine whose pods are asked for: a sentence names no more."""
_APPS = f"/apis/{APPS}"


@dataclass(frozen=True)
class _Counted:
    """A controller as it is."""

    ready: int
    replicas: int | None = None
    """Those that it is to have; of a DaemonSet 1 on each of its machines; None if the kind has no number known here."""
    selector: str | None = None
    """Of its pods; None for all pods of the namespace."""


def ready_before(client: KubernetesClient, names: Iterable[str]) -> dict[str, tuple[ReadyBefore, ...]]:
    """By machine the controllers that have Ready pods now, of those with a Ready pod on it.

    Raises:
        Refusal: they cannot be had or understood.
    """
    here = {
        name: [found for each in _pods_on(client, name) if each.ready and (found := _owner(each))] for name in names
    }
    sets = {each for found in here.values() for each in found if each[0] != DAEMON_SET}
    counted = _counted(client, sets)
    return {
        name: tuple(
            sorted({ReadyBefore(*each, ready) for each in found if (ready := _ready_of(each, counted.get(each)))})
        )
        for name, found in here.items()
    }


def _ready_of(owner: Controller, found: _Counted | None) -> int:
    return 1 if owner[0] == DAEMON_SET else found.ready if found is not None else 0


def missing_pods(client: KubernetesClient, machine: str, before: Collection[ReadyBefore]) -> tuple[MissingPods, ...]:
    """Those of these controllers that have fewer Ready pods than before. One that wants fewer by now has to have only
    those, and one that is gone has none to have.

    Raises:
        Refusal: they cannot be had or understood.
    """
    daemons = [each for each in before if each.kind == DAEMON_SET]
    on_machine = _pods_on(client, machine) if daemons else []
    there = {owner for each in on_machine if each.ready and (owner := _owner(each))}
    asked = [each for each in before if each.key not in there or each.kind != DAEMON_SET]
    counted = _counted(client, {each.key for each in asked})
    short = [
        MissingPods(machine, each, ready, wanted)
        for each in asked
        if (found := counted.get(each.key)) is not None
        and (ready := 0 if each.kind == DAEMON_SET else found.ready) < (wanted := _wanted(each, found))
    ]
    return tuple(_with_pods(client, short, on_machine, {key: each.selector for key, each in counted.items()}))


def _wanted(before: ReadyBefore, now: _Counted) -> int:
    return before.ready if now.replicas is None else min(before.ready, now.replicas)


def _with_pods(
    client: KubernetesClient, short: list[MissingPods], there: Collection[Pod], selectors: dict[Controller, str | None]
) -> Iterator[MissingPods]:
    """The same with their pods, of the first ones alone."""
    for number, each in enumerate(short):
        key = each.controller.key
        pods: Iterable[Pod] = there if each.controller.kind == DAEMON_SET else ()
        if each.controller.kind != DAEMON_SET and number < NAMED:
            pods = list_pods(client, each.controller.namespace, selectors[key])
        away = (UnreadyPod(f"{one.namespace}/{one.name}", _cause(one)) for one in pods if _is_away(one, key))
        yield replace(each, unready=tuple(away))


def _is_away(seen: Pod, key: Controller) -> bool:
    return not seen.ready and _owner(seen, going=True) == key


def _cause(seen: Pod) -> str:
    """The first thing that Kubernetes says. The kubelet's two reasons of a failed pull alternate, so one of them
    stands for both."""
    reasons = (each.reason.replace("ErrImagePull", "ImagePullBackOff") for each in seen.containers if not each.ready)
    return seen.scheduling_message.rstrip(".") or next(filter(None, reasons), "") or seen.reason


def _pods_on(client: KubernetesClient, machine: str) -> list[Pod]:
    return [pod(each) for each in client.list(PODS, field_selector=f"spec.nodeName={machine}")]


def _owner(seen: Pod, *, going: bool = False) -> Controller | None:
    """The controller of a pod, if its pods are waited for; None for a pod that is being deleted, unless `going`."""
    kind, _space, name = seen.owner.partition(" ")
    if not name or (seen.terminating and not going) or not stays(seen.owner_version, kind, seen.spec):
        return None
    return kind_in(seen.owner_version, kind), seen.namespace, name


def _counted(client: KubernetesClient, keys: Collection[Controller]) -> dict[Controller, _Counted]:
    """Those of these controllers that are there; one that is not of `apps/v1` has the pods that name it."""

    def ask(key: Controller) -> _Counted | None:
        kind, namespace, name = key
        item = client.get(in_namespace(_APPS, namespace, RESOURCES[kind], name))
        return _read(kind, item) if item is not None else None

    ordered = sorted(each for each in keys if each[0] in RESOURCES)
    others = sorted({*keys} - {*ordered})
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        asked = zip(ordered, pool.map(ask, ordered), strict=True)
        listed = pool.map(
            lambda each: list_pods(client, each), sorted({namespace for _kind, namespace, _name in others})
        )
        ready = Counter(_owner(each) for found in listed for each in found if each.ready)
    return {key: each for key, each in asked if each is not None} | {key: _Counted(ready[key]) for key in others}


def _read(kind: str, item: Json) -> _Counted:
    with reading_object(kind, item):
        spec, status = part(item, "spec"), part(item, "status", {})
        return _Counted(
            ready=whole(status, "readyReplicas", 0),
            replicas=1 if kind == DAEMON_SET else whole(spec, "replicas", 1),
            selector=within(spec, "selector", selector_text),
        )
