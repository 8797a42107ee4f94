"""Everything that stands in the way of switching nodes, all of it at once, each with volume, node and remedy."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ...common.verdict import Reason, Verdict, refused, remark, waiting
from ...common.words import enumerate_few
from ..observe.kinds import HUGE_PAGES, MEMORY, REBUILDS
from ..observe.state import HEALTHY, Longhorn, Node, Volume
from .copies import LEAST_API, healthy_nodes, lenders
from .interruptions import interrupted_before
from .reasons import (
    REPLACEMENT,
    WITHOUT_SNAPSHOT,
    backing_image_left,
    backing_images,
    disks_wait,
    engine_node_unknown,
    manager_missing,
    node_emptied,
    node_unfit,
    node_unknown,
    not_accepted,
    system_not_upgraded,
)
from .recurring_jobs import jobs_at
from .settings import is_zero, of_v2, truth
from .volumes import busy, detached, exposed, immovable, unsettled

UNKNOWN_VERSIONS = "unknown_versions"
UNLISTED_IMAGES = "unlisted_images"
"""The names under which a user accepts that something cannot be known."""
_TAG = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")

Version = tuple[int, int, int]


def version_of(image: str) -> Version | None:
    """The version in the tag of an image; None if the tag has none."""
    _name, _colon, tag = image.partition("@")[0].rpartition(":")
    found = _TAG.match(tag)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def judge_target(image: str, target: str) -> Verdict:
    """Whether the image that Longhorn has as its default is of the version that is upgraded to."""
    wanted, there = _TAG.fullmatch(target.strip()), version_of(image)
    if wanted is None:
        said = f"{target!r} is not a version of Longhorn."
        return Verdict((refused("target_not_valid", said, "Write target_version like v1.12.1."),))
    if there is not None and there == tuple(int(each) for each in wanted.groups()):
        return Verdict()
    said = f"Longhorn's default instance manager is {image}, which is not version {target}."
    remedy = "Upgrade the Longhorn system first, or name the version that it has as target_version."
    return Verdict((refused("target_differs", said, remedy),))


def preflight(
    seen: Longhorn, nodes: Sequence[str], image: str, accepted: Collection[str], extra_replicas: bool = False
) -> Verdict:
    """All blockers of switching these nodes, one after the other, to the image."""
    reasons: dict[Reason, None] = {}
    for name in sorted(seen.managers_of):
        reasons.update(dict.fromkeys(_of_system(seen, name, image)))
    for name in nodes:
        node = seen.nodes.get(name)
        if node is None:
            reasons[node_unknown(name)] = None
            continue
        reasons.update(dict.fromkeys(_of_node(seen, node, image, accepted)))
    about: dict[str, Volume] = {}
    first: dict[str, str] = {}
    for name in nodes:
        for volume in seen.volumes_on.get(name, ()):
            about[volume.name] = volume
            first.setdefault(volume.name, name)
    # A run that was interrupted at a node left its volumes as they are: only continuing with the node repairs them.
    at_work = [name for name, node in seen.nodes.items() if node.begun or seen.upgrades.are_at(name)]
    begun = {each.name for name in at_work for each in seen.volumes_on.get(name, ())}
    for volume in about.values():
        if volume.name not in begun and volume.home_mark in {"", *seen.emptied}:
            reasons.update(dict.fromkeys(_of_volume(seen, volume, nodes, extra_replicas)))
    if extra_replicas:
        reasons.update(dict.fromkeys(_of_room(seen, about.values(), first)))
    if nodes and is_zero(of_v2(seen, REBUILDS)):
        said = f"The setting {REBUILDS} is 0, so no replica would be rebuilt."
        reasons[refused("no_rebuild_slots", said, "Set it to at least 1.")] = None
    return Verdict(tuple(reasons))


def _of_system(seen: Longhorn, name: str, image: str) -> Iterator[Reason]:
    """Longhorn itself is upgraded first: every v2 node has an instance manager of the image, stopped or running."""
    if any(each.image == image for each in seen.managers_of[name]):
        return
    node = seen.nodes.get(name)
    # A run has begun the node only after it has seen that instance manager.
    yield manager_missing(name, image) if node and node.begun else system_not_upgraded(name, image)


def _of_node(seen: Longhorn, node: Node, image: str, accepted: Collection[str]) -> Iterator[Reason]:
    name = node.name
    if name not in seen.managers_of and node.begun:
        yield manager_missing(name, image)
    elif name not in seen.managers_of:
        said = f"Node {name} has no instance manager of the v2 data engine, so nothing would be switched there."
        remedy = (
            "See that longhorn-manager runs on it and that the v2 data engine is on, or leave it out (upgrade_nodes)."
        )
        yield refused("node_without_v2", said, remedy)
    if node.emptied:
        yield node_emptied(name)
    yield from node_unfit(seen, node)
    yield from _of_huge_pages(seen, node)
    old = [each for each in seen.managers_of.get(name, ()) if each.image != image]
    for each in old:
        yield from _of_versions(name, each.image, image, accepted)
    held = sorted({instance for each in old for instance in each.instances})
    attached = [each.name for each in exposed(seen, name)]
    if old and (held or attached):
        if REPLACEMENT not in accepted:
            yield not_accepted(name, attached, held)
        else:
            yield from interrupted_before(seen, name, image)
        yield from backing_images(seen, name)
        if seen.upgrades.kinds is None and not node.mark and name in seen.running_managers:
            yield from disks_wait(node)
    replaces = bool(old and (held or attached))
    yield from _of_detached(seen, name, accepted, replaces=replaces)
    if old and not replaces:
        there = (each for each in seen.volumes_on.get(name, ()) if each.backing_image)
        yield from (backing_image_left(each, name) for each in there)
    jobs = [each.name for each in jobs_at(seen, name)]
    if jobs:
        said = f"Recurring jobs are suspended while node {name} is changed: {enumerate_few(jobs)}."
        yield remark("recurring_jobs_held", said, "A job that is due during that time runs once when they are resumed.")


def _of_detached(seen: Longhorn, name: str, accepted: Collection[str], *, replaces: bool) -> Iterator[Reason]:
    """The detached volumes of a node. Those of a node that is changed under attached ones get a snapshot, too."""
    there = [each for each in seen.volumes_on.get(name, ()) if not each.attached]
    if not there:
        return
    names = enumerate_few(each.name for each in there)
    snapshots = replaces and seen.upgrades.kinds is None and WITHOUT_SNAPSHOT not in accepted
    taken = " Longhorn attaches each for its snapshot, and detaches it again." if snapshots else ""
    said = f"Detached volumes have a replica on node {name}: {names}.{taken}"
    yield remark("detached_volumes", said, "Leave them detached until the node is done.")
    fit = detached(seen, name)
    for each in there if snapshots else ():
        if each not in fit and not tuple(unsettled(each)):
            said = f"Volume {each.name} is detached, and no snapshot of it can be taken while it is restored or cloned."
            remedy = f"Let that end, or let it have none with accept_unverified: [{WITHOUT_SNAPSHOT}]."
            yield waiting("detached_no_snapshot", said, remedy, about=each.name)


def unlisted(seen: Longhorn, nodes: Sequence[str], image: str) -> list[str]:
    """The Kubernetes nodes among these that do not name the image.

    Absence proves nothing: a kubelet names 50 images at the most by default, and each some time after its pull.
    """
    return [name for name in nodes if name in seen.kubernetes_nodes and image not in seen.kubernetes_nodes[name].images]


def _of_huge_pages(seen: Longhorn, node: Node) -> Iterator[Reason]:
    """Longhorn's own condition decides; without it, the capacity that the Kubernetes node reports."""
    if truth(of_v2(seen, HUGE_PAGES)) is False:
        return
    remedy = "Give the Kubernetes node 2 MiB huge pages, and restart its kubelet."
    pages = node.conditions.get("HugePagesAvailable")
    if pages is not None and pages.status != "True":
        why = pages.message.rstrip(".")
        said = f"Node {node.name} does not have the huge pages that an instance manager needs: {why}."
        yield refused("huge_pages_missing", said, remedy)
    if pages is not None:
        return
    known = seen.kubernetes_nodes.get(node.name)
    wanted = of_v2(seen, MEMORY)
    if known is None or known.huge_pages is None or not wanted.isdecimal():
        said = f"It is not known whether node {node.name} has the huge pages that an instance manager needs."
        yield waiting("huge_pages_unknown", said, "Wait until longhorn-manager has checked the node.", about=node.name)
    elif known.huge_pages < int(wanted):
        said = f"Node {node.name} has {known.huge_pages} MiB of huge pages, and an instance manager needs {wanted} MiB."
        yield refused("huge_pages_missing", said, remedy)


def _of_versions(name: str, old: str, new: str, accepted: Collection[str]) -> Iterator[Reason]:
    before, after = version_of(old), version_of(new)
    if before is None or after is None:
        if UNKNOWN_VERSIONS not in accepted:
            said = f"The tag of {old if before is None else new} on node {name} names no version."
            remedy = f"See that it is at most one minor version, then accept_unverified: [{UNKNOWN_VERSIONS}]."
            yield refused("version_unknown", said, remedy)
    elif after < before:
        said = f"Node {name} runs {old}, which is newer than {new}."
        yield refused("downgrade", said, "Longhorn cannot go back: upgrade to a newer version.")
    elif after[0] != before[0] or after[1] - before[1] > 1:
        said = f"Node {name} runs {old}, and {new} is more than one minor version newer."
        yield refused("too_far", said, "Upgrade one minor version at a time.")


def _of_volume(seen: Longhorn, volume: Volume, nodes: Sequence[str], extra_replicas: bool) -> Iterator[Reason]:
    name = volume.name
    if not volume.attached:
        yield from unsettled(volume)
        return
    if volume.home in nodes:
        yield from immovable(volume)
    yield from engine_node_unknown(seen, volume)
    held = healthy_nodes(seen, volume)
    if volume.number_of_replicas < 2:
        if not extra_replicas:
            engine = seen.engine_of.get(name)
            where = f", on node {enumerate_few(held)}" if held else ""
            at = f", and its engine on node {engine.node}" if engine else ""
            yield refused(
                "single_replica",
                f"Volume {name} has a single replica{where}{at}.",
                "Give it a second replica, or let the run make one for a while with extra_replicas (not with"
                " strict-local).",
            )
    elif len(held) == 1:
        said = f"All healthy replicas of volume {name} are on node {enumerate_few(held)}."
        # The replica that is missing may come back on another node.
        remedy = "Move one of them to another node."
        yield (refused if volume.robustness == HEALTHY else waiting)("replicas_on_one_node", said, remedy)
    if volume.robustness != HEALTHY:
        said = f"Volume {name} is {volume.robustness or 'of unknown robustness'}."
        yield waiting("volume_degraded", said, "Wait until its replicas are rebuilt.", about=name)
    if volume.switchover:
        said = f"The engine of volume {name} is being moved ({volume.switchover})."
        yield waiting("engine_moves", said, about=name)
    yield from busy(seen, volume)
    if volume.home in nodes and volume.number_of_replicas > 1:
        yield from _of_lenders(seen, volume)


def _of_room(seen: Longhorn, volumes: Iterable[Volume], first: Mapping[str, str]) -> Iterator[Reason]:
    """A second replica is made before the first node of a volume is changed; that node itself takes none by then."""
    takers = frozenset(name for name, node in seen.nodes.items() if _takes_replicas(seen, node))
    for volume in volumes:
        if not volume.attached or volume.number_of_replicas > 1:
            continue
        held = healthy_nodes(seen, volume) | {first[volume.name]}
        if len(takers & held) == len(takers):
            yield waiting(
                "no_room_for_replica",
                f"No node takes a second replica of volume {volume.name} before node {first[volume.name]} is changed.",
                "Allow scheduling on a ready node that has no replica of it, and on a block disk there.",
                about=volume.name,
            )


def _takes_replicas(seen: Longhorn, node: Node) -> bool:
    """Whether Longhorn makes replicas there, as far as it says; a node that a run has marked is opened again."""
    # A filesystem disk holds replicas of the v1 data engine alone.
    blocks = [each for each in node.disks if each.type == "block" and not each.closed]
    disks = any(each.schedulable is not None and each.schedulable.true for each in blocks)
    return node.ready and (node.allow_scheduling or node.begun) and disks and node.name in seen.running_managers


def _of_lenders(seen: Longhorn, volume: Volume) -> Iterator[Reason]:
    if next(lenders(seen, volume, volume.home), ""):
        return
    others = sorted(healthy_nodes(seen, volume) - {volume.home})
    old = [each for each in others if seen.running_managers[each].api_version < LEAST_API]
    why = f" The instance managers of {enumerate_few(old)} are too old for it." if old else ""
    healthy = volume.robustness == HEALTHY and all(each in seen.nodes and seen.nodes[each].ready for each in others)
    yield (refused if healthy else waiting)(
        "no_other_node",
        f"No other node can run the engine of volume {volume.name} while node {volume.home} is changed.{why}",
        "Bring up a node that is ready, has a healthy replica of the volume, and runs a v2 instance manager.",
    )
