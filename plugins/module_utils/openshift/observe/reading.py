"""Reading OpenShift's objects strictly, from JSON to observations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...common.reading import Json, flag, listed, part, text, text_map, whole, within
from ...kubernetes.conditions import UNKNOWN, conditions
from ...kubernetes.node_fitness import CORDONED, PRESSURES
from ...run.undo.undo import UNREADABLE, Change, Path, undo_in
from ...run.undo.undo_annotation import UNDO
from .kinds import (
    CURRENT,
    DESIRED,
    DESIRED_DRAIN,
    LAST_DRAIN,
    MAX_UNAVAILABLE,
    PAUSED,
    REASON,
    REQUIRED,
    SINGLE_REPLICA,
    STATE,
    TOPOLOGY,
    ZONE,
)
from .state import (
    ClusterVersion,
    ConfiguredNode,
    HistoryEntry,
    MachineConfigPool,
    Operator,
    Update,
    UpdateRisk,
)

OWN_OR_KEPT = {"version", "image", "acceptRisks"}
"""The fields of a desired update that a run sets itself, or that it leaves as a person has set them."""


def cluster_version(_name: str, item: Json) -> ClusterVersion:
    """The ClusterVersion."""
    metadata, spec, status = part(item, "metadata"), part(item, "spec"), part(item, "status", {})
    plain = listed(status, "availableUpdates", _update, ())
    conditional = listed(status, "conditionalUpdates", _conditional, ())
    return ClusterVersion(
        cluster_id=text(spec, "clusterID"),
        channel=text(spec, "channel", ""),
        resource_version=text(metadata, "resourceVersion"),
        generation=whole(metadata, "generation", 0),
        observed_generation=whole(status, "observedGeneration", 0),
        wanted=within(spec, "desiredUpdate", lambda found: _applied(found, "version"), {}),
        desired=within(status, "desired", lambda found: text(found, "version", ""), {}),
        history=listed(status, "history", _entry, ()),
        updates={each.version: each for each in (*conditional, *plain)},
        conditions=conditions(status),
        upstream=text(spec, "upstream", ""),
        wanted_image=within(spec, "desiredUpdate", lambda found: _applied(found, "image"), {}),
        desired_image=within(status, "desired", lambda found: text(found, "image", ""), {}),
        wanted_more=within(spec, "desiredUpdate", lambda found: tuple(sorted(found.keys() - OWN_OR_KEPT)), {}),
        architecture=within(status, "desired", lambda found: text(found, "architecture", ""), {}),
        unmanaged=tuple(filter(None, listed(spec, "overrides", _unmanaged, ()))),
    )


def _applied(update: Json, name: str) -> str:
    """A field of a desired update that is to be applied; empty for one that is only checked. Only without a `mode` is
    it applied: with `Preflight` its checks run, and nothing is updated (openshift/api, `Update.mode`)."""
    return "" if text(update, "mode", "") else text(update, name, "")


def _unmanaged(item: Json) -> str:
    """The object of an override, if that takes it from the cluster version operator; empty if not."""
    place = "/".join(filter(None, (text(item, "namespace", ""), text(item, "name"))))
    return f"{text(item, 'kind')} {place}" if flag(item, "unmanaged", default=False) else ""


def _update(item: Json) -> Update:
    return Update(text(item, "version"), text(item, "image"))


def _conditional(item: Json) -> Update:
    release = part(item, "release")
    risks = listed(
        item, "risks", lambda each: UpdateRisk(text(each, "name"), text(each, "message", ""), text(each, "url", ""))
    )
    said = conditions(item).get("Recommended", UNKNOWN)
    return Update(text(release, "version"), text(release, "image"), risks, said)


def _entry(item: Json) -> HistoryEntry:
    return HistoryEntry(
        text(item, "version", ""), text(item, "state"), text(item, "startedTime", ""), text(item, "completionTime", "")
    )


def operator(name: str, item: Json) -> Operator:
    """A ClusterOperator."""
    status = part(item, "status", {})
    found = conditions(status)
    versions = dict(listed(status, "versions", lambda each: (text(each, "name"), text(each, "version", "")), ()))
    return Operator(name, versions.get("operator", ""), found.get("Available", UNKNOWN), found.get("Degraded", UNKNOWN))


def pool(name: str, item: Json, release: str) -> MachineConfigPool:
    """A MachineConfigPool; `release` is the version to which its configuration belongs."""
    spec, status = part(item, "spec"), part(item, "status", {})
    notes = within(item, "metadata", lambda data: text_map(data, "annotations"))
    found, changes = conditions(status), _changes(notes.get(UNDO))
    return MachineConfigPool(
        name=name,
        paused=flag(spec, "paused", default=False),
        carries_undo=UNDO in notes,
        is_held=changes is None or PAUSED in changes,
        limit_before=_limit_before(spec, changes or {}),
        selector=part(spec, "nodeSelector", {}) or None,
        max_unavailable=_most(spec),
        config=config_of(item),
        release=release,
        degraded=found.get("Degraded", UNKNOWN),
        required=REQUIRED in within(item, "metadata", lambda data: text_map(data, "labels")),
    )


def _changes(undo: str | None) -> Mapping[Path, Change] | None:
    """The changes of an undo by their paths; None if it cannot be read."""
    try:
        return {} if undo is None else {each.path: each for each in undo_in(undo, lambda _change: True).changes}
    except UNREADABLE:
        return None


def _limit_before(spec: Json, changes: Mapping[Path, Change]) -> int | str | None:
    change = changes.get(MAX_UNAVAILABLE)
    return _most({"maxUnavailable": change.was}) if change and change.is_ours(spec.get("maxUnavailable")) else None


def _most(spec: Json) -> int | str:
    found: Any = spec.get("maxUnavailable", 1)
    return found if isinstance(found, (int, str)) and not isinstance(found, bool) else 1


def config_of(item: Json) -> str:
    """The name of the rendered configuration that a pool is to have; empty while it has none."""
    return within(item, "spec", lambda spec: within(spec, "configuration", lambda found: text(found, "name", ""), {}))


def node(name: str, item: Json) -> ConfiguredNode:
    """A Kubernetes node."""
    metadata, spec, status = part(item, "metadata"), part(item, "spec", {}), part(item, "status", {})
    notes: Mapping[str, str] = text_map(metadata, "annotations")
    labels = text_map(metadata, "labels")
    found = conditions(status)
    return ConfiguredNode(
        name=name,
        labels=labels,
        zone=labels.get(ZONE, ""),
        created=text(metadata, "creationTimestamp", ""),
        ready=found.get("Ready", UNKNOWN).true,
        unschedulable=flag(spec, "unschedulable", default=False),
        current=notes.get(CURRENT, ""),
        desired=notes.get(DESIRED, ""),
        state=notes.get(STATE, ""),
        reason=notes.get(REASON, ""),
        wanted_drain=notes.get(DESIRED_DRAIN, ""),
        last_drain=notes.get(LAST_DRAIN, ""),
        closed_since=dict(listed(spec, "taints", _taint, ())).get(CORDONED, ""),
        pressures=tuple(said for name, said in PRESSURES.items() if found.get(name, UNKNOWN).true),
        kubelet=within(status, "nodeInfo", lambda info: text(info, "kubeletVersion", ""), {}),
        restarts_in_place=notes.get(TOPOLOGY) == SINGLE_REPLICA,
    )


def _taint(item: Json) -> tuple[str, str]:
    return text(item, "key"), text(item, "timeAdded", "")
