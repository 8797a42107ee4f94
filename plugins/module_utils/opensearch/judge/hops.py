"""The hops of an upgrade over several versions: how a user gives them, and the one that is due. Pure.

A server joins only members of some earlier versions (`upgrade_path`), and opens only indices of the major version
before its own. So from 1.3 to 3.x all members go to 2.19 first. Each hop is an upgrade of the whole cluster, with its
own gates. All hops together have one plan and one consent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from ...common.errors import refusal
from ...common.verdict import Reason, State, Verdict, as_verdict, combine, refused
from ...common.words import enumerate_few
from ...pools.given_images import given_images
from ..observe.version import Version
from .upgrade_path import judge_path, target_of

OPTIONS = ("version", "image")
"""The keys of a hop."""
REMEDY = (
    "Give the versions on the way in their order, such as upgrade_hops=2.19.6, or a list of mappings with version and"
    " image."
)


@dataclass(frozen=True)
class VersionHop:
    """One upgrade of the chain."""

    version: Version
    image: Any = None
    """The image of this version, as the option `image` has it; None to derive it."""


def hops_in(given: Any, target: Version, image: Any) -> tuple[VersionHop, ...]:
    """All hops in their order, of which the last leads to the target; only that one if none is given.

    Raises:
        Refusal: a hop is no version, has another key, or has no image although the target has one.
    """
    between = [_hop(each) for each in _listed(given)]
    bare = [str(each.version) for each in between if not given_images(each.image)]
    if given_images(image) and bare:
        raise refusal(
            "hop_without_image",
            f"upgrade_image names the image of {target}, and no image of {enumerate_few(bare)} is given.",
            "Give each hop its image in upgrade_hops: a list of mappings with version and image.",
        )
    return (*between, VersionHop(target, image))


def _listed(given: Any) -> list[Any]:
    if isinstance(given, str):
        return [each.strip() for each in given.split(",") if each.strip()]
    if given is None or isinstance(given, Sequence):
        return list(given or ())
    raise _unclear(given)


def _hop(given: Any) -> VersionHop:
    known = {"version": given} if isinstance(given, str) else given
    if not isinstance(known, Mapping) or not isinstance(known.get("version"), str) or set(known) - {*OPTIONS}:
        raise _unclear(given)
    return VersionHop(target_of(known["version"]), known.get("image"))


def _unclear(given: Any) -> Exception:
    return refusal("hops_unclear", f"upgrade_hops has {given!r}, which is not a hop.", REMEDY)


@as_verdict
def judge_hops(hops: Sequence[VersionHop]) -> Iterator[Reason]:
    """Whether the members can go from each hop to the next one, with one reason for each step that they cannot."""
    for before, after in pairwise(hops):
        if not before.version < after.version:
            yield refused(
                "hops_out_of_order",
                f"The hop to {before.version} comes before that to {after.version}, which is not newer.",
                "Give the versions in upgrade_hops in their order, each older than target_version.",
            )
            continue
        names = f"Each member after the hop to {before.version}"
        yield from judge_path([(names, before.version)], after.version).reasons


def hop_due(hops: Sequence[VersionHop], versions: Collection[Version]) -> int:
    """The number of the hop that is due, from 0: the first one that a member of these versions is below."""
    below = (number for number, hop in enumerate(hops) if any(version < hop.version for version in versions))
    return next(below, len(hops) - 1)


def is_between(hops: Sequence[VersionHop], due: int, versions: Collection[Version]) -> bool:
    """Whether all members that are there have made the hop before the one that is due, and none has gone further.

    A member that is away then may belong to either hop.
    """
    return due > 0 and {*versions} == {hops[due - 1].version}


@as_verdict
def judge_left_below(left: Collection[str], hop: VersionHop, following: VersionHop | None) -> Iterator[Reason]:
    """Whether the plan of a hop has all members, without which the next one cannot start."""
    if left and following is not None:
        yield refused(
            "hop_leaves_members",
            f"The plan leaves {enumerate_few(sorted(left))} below {hop.version}, so the hop to {following.version}"
            " could not start.",
            "Plan for all members (upgrade_pools, upgrade_members), or leave out upgrade_hops.",
        )


@as_verdict
def judge_added(pool: str | None) -> Iterator[Reason]:
    """Whether no member is to be added: it would be made in one hop, and go down with all others in the next."""
    if pool:
        yield refused(
            "extra_member_with_hops",
            f"Pool {pool} is to have one member more for the time of the upgrade, and the upgrade has several hops. The"
            " member would run the version of the first hop, and give no more room in the next ones.",
            "Leave out upgrade_extra_member, or upgrade hop by hop without upgrade_hops.",
        )


TOO_OLD = "index_too_old"
BLOCKING = frozenset({TOO_OLD, "index_setting_removed", "remote_store_format"})
"""The codes of reasons against a later hop that are about the data, and can be removed now."""


def of_later_hops(verdicts: Iterable[tuple[Verdict, Version]], present: Version | None) -> Verdict:
    """The verdicts on later hops, as the plan of the whole has them. `present` is the oldest member.

    Data that the present members can change blocks at once. Any other cause is to be fixed between two hops: the
    later one is planned and proven again before it starts, and is refused until then. That also holds for an index
    that is too old while the members are so, too: an index that they reindex is as old as they are.
    """
    return combine(
        Verdict(tuple(_of_later(each, version, present) for each in verdict.reasons)) for verdict, version in verdicts
    )


def _of_later(reason: Reason, version: Version, present: Version | None) -> Reason:
    old = reason.code == TOO_OLD and present is not None and present.major < version.major - 1
    if reason.state is State.PASSED or (reason.code in BLOCKING and not old):
        return replace(reason, message=f"Hop to {version}: {reason.message}")
    message = f"To be done before the hop to {version}, which is refused until then: {reason.message}"
    remedy = "Reindex or delete them when the hop before is done, then run again." if old else reason.remedy
    return replace(reason, state=State.PASSED, message=message, remedy=remedy)
