"""The nodes to switch, in their order, each with its reason and proof, and the digest that consent covers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ...run.start.approvals import digest_text
from ..observe.state import InstanceManager, Longhorn
from .copies import healthy_nodes
from .preflight import version_of
from .volumes import moved_from, touched


@dataclass(frozen=True)
class NodeTurn:
    """One node in the order."""

    node: str
    reason: str
    proof: str
    image: str
    """The image that its instance manager runs, or an old one that it has."""


def old_managers(seen: Longhorn, node: str, image: str) -> tuple[InstanceManager, ...]:
    """The v2 instance managers of the node that run another image."""
    return tuple(each for each in seen.managers_of.get(node, ()) if each.image != image)


def is_done(seen: Longhorn, node: str, image: str) -> bool:
    """Whether the node runs the image, and nothing of a run is left on it. One that was emptied stays so."""
    running = seen.running_managers.get(node)
    if old_managers(seen, node, image) or running is None or running.image != image:
        return False
    known = seen.nodes.get(node)
    return node in seen.emptied or (not (known and known.mark) and not moved_from(seen, node))


def v2_nodes(seen: Longhorn, names: Collection[str] = ()) -> list[str]:
    """The nodes, or these of them, with a v2 instance manager. One that a run has begun may lack it for a while."""
    known = seen.managers_of.keys() | {name for name, node in seen.nodes.items() if node.begun}
    return sorted(name for name in known if not names or name in names)


def order(seen: Longhorn, image: str, names: Collection[str] = ()) -> tuple[NodeTurn, ...]:
    """The nodes that are not done, in their order: those that a run has started come first, then by name."""
    left = [name for name in v2_nodes(seen, names) if not is_done(seen, name, image)]
    begun = {name for name in left if _is_begun(seen, name)}
    return tuple(
        NodeTurn(
            name,
            "begun by an interrupted run" if name in begun else "next by name",
            proof_of(seen, name),
            image_text(seen, name),
        )
        for name in sorted(left, key=lambda name: (name not in begun, name))
    )


def _is_begun(seen: Longhorn, node: str) -> bool:
    known = seen.nodes.get(node)
    return node not in seen.emptied and (bool(known and known.mark) or bool(moved_from(seen, node)))


def proof_of(seen: Longhorn, node: str) -> str:
    """The proof that the node may be changed, or what it lacks."""
    attached = touched(seen, node)
    if not attached:
        return "no volume is attached there"
    bare = [each.name for each in attached if not healthy_nodes(seen, each) - {node}]
    several = len(attached) > 1
    if bare:
        which = f"{len(bare)} of its {len(attached)} volumes" if several else "its volume"
        return f"{which} {'has' if len(bare) == 1 else 'have'} no healthy replica elsewhere"
    return f"{f'each of its {len(attached)} volumes' if several else 'its volume'} keeps a healthy replica elsewhere"


def version_text(seen: Longhorn, node: str) -> str:
    """The version that the node runs: the oldest of its instance managers that run, or the tag of its image."""
    there = [each.image for each in seen.managers_of.get(node, ()) if each.running] or [
        each.image for each in seen.managers_of.get(node, ())
    ]
    known = sorted(found for found in map(version_of, there) if found)
    return "v{}.{}.{}".format(*known[0]) if known else (there[0] if there else "")


def image_text(seen: Longhorn, node: str) -> str:
    """The image of the instance manager that runs on the node; without one, that of any other that it has."""
    there = sorted(seen.managers_of.get(node, ()), key=lambda each: (not each.running, each.image))
    return there[0].image if there else ""


def digest(seen: Longhorn, image: str, names: Collection[str], accepted: Collection[str], extra: bool) -> str:
    """The digest of the result of the plan and its conditions, and not of how far it has come."""
    covered = {
        "image": image,
        "nodes": v2_nodes(seen, names),
        "accepted": sorted(accepted),
        "extra_replicas": extra,
        "namespace": seen.namespace,
    }
    return digest_text(covered)
