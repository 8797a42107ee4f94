"""The target of an upgrade, with all that an update graph and a registry have said of it. Pure: no client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...common.release import Release, release_in
from ...common.verdict import Verdict
from .release_image import ImageReference, ReleaseImage
from .state import ClusterVersion, OpenShift, Update
from .update_graph import UpdateGraph

NOTHING = Verdict()


def ahead_of(version: ClusterVersion, through: Sequence[Release]) -> list[Release]:
    """Those of the versions on the way that are not reached; one that is under way is not."""
    present = release_in(version.present)
    return [each for each in through if present is None or present < each]


@dataclass(frozen=True)
class UpgradeTarget:
    """A version, and how the cluster is to get to it."""

    release: Release
    channel: str
    """The channel that the cluster is to have."""
    is_asked_for: bool = False
    """Whether a user has named that channel. Without that it is the present one."""
    image: ImageReference | None = None
    """The image that a user has named; without it, it is that of the channel."""
    metadata: ReleaseImage | None = None
    """The metadata of that image, if they were asked for."""
    accepted: tuple[str, ...] = ()
    """The names of the risks that a user accepts."""
    is_multi: bool = False
    """Whether a user wants it for several architectures."""
    is_chained: bool = False
    """Whether it is part of a chain of upgrades, of which a user has named the versions on the way."""
    graph: UpdateGraph | None = None
    """The update graph of the channel, if it was needed and could be had."""
    chain: tuple[UpdateGraph, ...] = ()
    """The update graphs of the channels of each minor version on the way, if some would be skipped."""
    without_chain: str = ""
    """The cause for which these could not be had."""
    trouble: Verdict = NOTHING
    """The reasons for which something that is needed could not be had."""

    def __str__(self) -> str:
        return str(self.release)

    def changes_channel(self, version: ClusterVersion) -> bool:
        """Whether the channel of the cluster is another one."""
        return self.channel != version.channel

    def listed(self, version: ClusterVersion) -> Update | None:
        """The update among those that the cluster version operator has retrieved."""
        return version.updates.get(str(self))

    def update(self, version: ClusterVersion) -> Update:
        """The update as it is to be desired. Its image is empty as long as no channel offers it."""
        if self.image is not None:
            return Update(str(self), str(self.image))
        of_graph = self.graph.updates(version.present).get(str(self)) if self.graph else None
        return self.listed(version) or of_graph or Update(str(self), "")


def stages(seen: OpenShift, hops: Sequence[UpgradeTarget]) -> Iterator[tuple[OpenShift, UpgradeTarget]]:
    """Each upgrade of a chain, with OpenShift as it will be when its time comes."""
    for hop in hops:
        yield seen, hop
        seen = seen.after(str(hop), hop.channel)
