"""Larger volume claims of pools: what is wanted, what is there, and what stands in the way. Pure.

Kubernetes makes no claim smaller, and changes no `volumeClaimTemplates` of a StatefulSet (API validation of
StatefulSets; KEP-661 is not available): the claims are made larger one by one, and the set is made again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ..common.arguments import Options
from ..common.errors import each_read
from ..common.verdict import Reason, as_verdict, refused, remark, waiting
from ..common.words import enumerate_few
from ..kubernetes.claims import VolumeClaim, storage_of
from ..kubernetes.pod_usage import quantity
from ..kubernetes.state import StatefulSet

VOLUMES: Options = {
    "volumes": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "pool": {"type": "str", "required": True},
            "claim": {"type": "str", "required": True},
            "size": {"type": "str", "required": True},
        },
    }
}
"""The option for the sizes that volume claims are raised to."""
RESTART_AFTER = 120.0
"""Seconds after which a file system that has not grown is expected to grow only when its pod starts. The kubelet grows
that of a running pod in its next syncs, which are a minute apart at most (kubelet, `--sync-frequency`)."""
GROWING = "volume_growing"
PENDING = "volume_file_system_pending"
"""The codes of what is waited for."""


@dataclass(frozen=True)
class WantedSize:
    """The size that the claims of one template of a pool are to have."""

    pool: str
    claim: str
    size: str
    bytes: Decimal


@dataclass(frozen=True)
class GrowingPool:
    """A pool, the sizes that are wanted for it, and its claims."""

    pool: StatefulSet
    found: Mapping[str, Any]
    """The StatefulSet as the API gives it."""
    wanted: tuple[WantedSize, ...]
    claims: Mapping[str, VolumeClaim]
    """Those that are there, by name."""
    expands: Mapping[str, bool | None]
    """Whether claims of a StorageClass may grow, by its name; None if that is not known."""

    def template(self, claim: str) -> Mapping[str, Any] | None:
        """The claim template of this name."""
        return next((each for each in templates_of(self.found) if each["metadata"]["name"] == claim), None)

    def names(self, wanted: WantedSize) -> tuple[str, ...]:
        """The names of the claims of one template, of all members."""
        return tuple(f"{wanted.claim}-{member}" for member in self.pool.member_names())

    def to_raise(self) -> list[tuple[VolumeClaim, WantedSize]]:
        """The claims that ask for less than they are to have."""
        return [
            (claim, wanted)
            for wanted in self.wanted
            for name in self.names(wanted)
            if (claim := self.claims.get(name)) is not None and claim.requested < wanted.bytes
        ]

    def is_behind(self) -> bool:
        """Whether a claim template asks for less, so that the set has to be made again."""
        return any(
            (template := self.template(each.claim)) is not None and template_bytes(template) < each.bytes
            for each in self.wanted
        )


@dataclass(frozen=True)
class VolumesLook:
    """The pools of which claims are to grow."""

    pools: tuple[GrowingPool, ...] = ()
    unknown: tuple[WantedSize, ...] = ()
    """Those of which there is no StatefulSet."""

    def members(self) -> dict[str, str]:
        """The member of each claim that is to grow or has grown, by the name of the claim."""
        return {
            name: member
            for pool in self.pools
            for wanted in pool.wanted
            for name, member in zip(pool.names(wanted), pool.pool.member_names(), strict=True)
            if name in pool.claims
        }

    def gains(self) -> dict[str, int]:
        """The bytes by which the file systems of each member are to grow."""
        found: dict[str, int] = {}
        members = self.members()
        for pool in self.pools:
            for wanted in pool.wanted:
                for claim in _claims(pool, wanted):
                    more = int(wanted.bytes - claim.capacity)
                    found[members[claim.name]] = found.get(members[claim.name], 0) + max(0, more)
        return found


def wanted_sizes(given: Iterable[Mapping[str, Any]] | None) -> tuple[WantedSize, ...]:
    """The wanted sizes, from the option of a module.

    Raises:
        Refusal: one of them is no size, or a claim is named twice.
    """
    seen: set[tuple[str, str]] = set()

    def read(each: Mapping[str, Any]) -> WantedSize:
        found, place = quantity(each["size"]), (str(each["pool"]), str(each["claim"]))
        if found is None or found <= 0:
            raise ValueError("it is no size, such as 200Gi")
        if place in seen:
            raise ValueError("it is named twice")
        seen.add(place)
        return WantedSize(*place, str(each["size"]).strip(), found)

    def fault(each: Mapping[str, Any], error: ValueError) -> Reason:
        said = f"volumes has the size {each['size']!r} for claim {each['claim']} of pool {each['pool']}, and {error}."
        return refused("volume_size_not_valid", said, "Correct volumes (upgrade_volumes).")

    return tuple(each_read(given or (), read, fault))


def templates_of(found: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The claim templates of a StatefulSet."""
    templates: Sequence[Mapping[str, Any]] = found["spec"].get("volumeClaimTemplates") or []
    return templates


def template_bytes(template: Mapping[str, Any]) -> Decimal:
    """The bytes that a claim template asks for; 0 if it cannot be read, which is then refused as a whole."""
    return quantity(storage_of(template["spec"])) or Decimal(0)


@as_verdict
def judge_volumes(look: VolumesLook) -> Iterator[Reason]:
    """Whether the claims may have these sizes, and the sets be made again, as far as that shows before anything is
    changed."""
    for each in look.unknown:
        yield refused(
            "volume_unknown",
            f"volumes names pool {each.pool}, and there is no such StatefulSet of the upgrade.",
            "Correct volumes (upgrade_volumes).",
        )
    for pool in look.pools:
        for wanted in pool.wanted:
            yield from _of_template(pool, wanted)
        if pool.is_behind():
            yield from _of_set(pool)


def _of_template(pool: GrowingPool, wanted: WantedSize) -> Iterator[Reason]:
    template = pool.template(wanted.claim)
    if template is None:
        known = ", ".join(sorted(each["metadata"]["name"] for each in templates_of(pool.found))) or "none"
        yield refused(
            "volume_unknown",
            f"StatefulSet {wanted.pool} has no claim template {wanted.claim} (it has: {known}).",
            "Correct volumes (upgrade_volumes).",
        )
        return
    missing = [name for name in pool.names(wanted) if name not in pool.claims]
    if missing:
        yield refused(
            "volume_not_bound",
            f"There is no volume claim {enumerate_few(missing)} of StatefulSet {wanted.pool}.",
            "Find out why the pod has none, or wait until it is made; then run again.",
        )
    larger = [each.name for each in _claims(pool, wanted) if each.requested > wanted.bytes]
    if larger or template_bytes(template) > wanted.bytes:
        named = enumerate_few(larger) if larger else f"template {wanted.claim} of StatefulSet {wanted.pool}"
        yield refused(
            "volume_shrinks",
            f"{named} asks for more than {wanted.size} already, and Kubernetes makes no claim smaller.",
            "Give a size in volumes (upgrade_volumes) that is as large as the largest.",
        )
    for claim in _claims(pool, wanted):
        yield from _of_claim(pool, claim, wanted)


def _claims(pool: GrowingPool, wanted: WantedSize) -> list[VolumeClaim]:
    return [pool.claims[name] for name in pool.names(wanted) if name in pool.claims]


def _of_claim(pool: GrowingPool, claim: VolumeClaim, wanted: WantedSize) -> Iterator[Reason]:
    if claim.infeasible:
        yield infeasible(claim)
    if claim.requested >= wanted.bytes:
        return
    if claim.phase != "Bound":
        yield refused(
            "volume_not_bound",
            f"Volume claim {claim.name} is {claim.phase or 'not bound'}, and only one that is Bound can grow.",
            "Have it bound to a volume, then run again.",
        )
    if not claim.storage_class or pool.expands.get(claim.storage_class) is False:
        named = f"StorageClass {claim.storage_class} of" if claim.storage_class else "No StorageClass is named by"
        yield refused(
            "volume_class_fixed",
            f"{named} volume claim {claim.name}"
            f"{' does not exist, or has no allowVolumeExpansion: true' if claim.storage_class else ''}, so that it"
            " cannot grow.",
            "If its driver can make volumes larger, set allowVolumeExpansion: true in the StorageClass; otherwise add"
            " members, or move the data to larger volumes.",
        )


def infeasible(claim: VolumeClaim) -> Reason:
    """The refusal for a resize that has failed for good."""
    said = f": {claim.fault}" if claim.fault else ""
    return refused(
        "volume_resize_failed",
        f"Volume claim {claim.name} cannot have {claim.written} ({claim.resizing}){said}.",
        "Give the storage more space and ask for the size again, or lower the request of the claim by hand to a size"
        " above its capacity, which Kubernetes allows after a failure (since 1.34 without a feature gate).",
    )


def _of_set(pool: GrowingPool) -> Iterator[Reason]:
    """The reasons why a set must not be made again."""
    name, policy = pool.pool.name, pool.found["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    if policy.get("whenDeleted") == "Delete":
        yield refused(
            "volume_claims_go_with_set",
            f"StatefulSet {name} has to be deleted and made again for its larger claim template, and its claims are to"
            " be deleted with it (persistentVolumeClaimRetentionPolicy).",
            "Set whenDeleted: Retain in it, then run again.",
        )
    owner = pool.pool.owner
    if owner is not None:
        yield refused(
            "volume_set_owned",
            f"StatefulSet {name} belongs to {owner.kind} {owner.name}, which makes and changes it.",
            f"Raise the size in {owner.kind} {owner.name}, and leave volumes (upgrade_volumes) out.",
        )
    yield remark(
        "volume_manifest",
        f"StatefulSet {name} is made again with the larger claim template, and its pods stay.",
        "Change the size in its manifest, too (Git, or the values of a chart): the API server refuses one with the old"
        " size.",
    )


@as_verdict
def judge_followed(
    claims: Iterable[VolumeClaim], restarted: Collection[str], ages: Mapping[str, float]
) -> Iterator[Reason]:
    """Whether each claim has the size that it asks for.

    `restarted` are the claims of pods that are restarted later in the run, and `ages` the seconds for which the file
    system of a claim has been about to grow.
    """
    for claim in claims:
        if claim.settled:
            continue
        if claim.infeasible:
            yield infeasible(claim)
        elif not claim.pending_since:
            said = f" The last error was: {claim.fault}." if claim.fault else ""
            yield waiting(
                GROWING,
                f"Volume claim {claim.name} is growing to {claim.written}.{said}",
                "If this lasts, see the events of the claim and the log of the resizer of its driver.",
                about=claim.name,
            )
        elif claim.name in restarted and ages.get(claim.name, 0.0) >= RESTART_AFTER:
            yield remark(
                "volume_grows_at_restart",
                f"The volume of claim {claim.name} has grown to {claim.written}. Its file system grows when its pod"
                " restarts in its batch.",
            )
        else:
            yield waiting(
                PENDING,
                f"The volume of claim {claim.name} has grown to {claim.written}, and its file system has not yet.",
                "If this lasts, restart the pod that uses it: some drivers grow the file system only then.",
                about=claim.name,
            )


def left(claims: Iterable[VolumeClaim]) -> dict[str, tuple[float, ...]]:
    """The numbers of claims that are not done, by code, so that a wait lasts as long as there is progress."""
    open_ = [each for each in claims if not each.settled]
    pending = sum(bool(each.pending_since) for each in open_)
    return {GROWING: (float(len(open_) - pending),), PENDING: (float(len(open_)),)}
