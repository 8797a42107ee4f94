"""Whether a channel offers an update: by the list of the cluster, by the update graph, and for an image. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...common.release import Release, release_in
from ...common.verdict import Reason, State, refused, remark
from ...common.words import first_few
from ..observe.state import ClusterVersion, Update
from ..observe.target import UpgradeTarget
from ..observe.update_graph import NOT_EVALUATED, UpdateGraph

_IMAGE = "without an update service give the image (release_image)."
_UNREACHABLE = f"See whether the update service can be reached from the cluster (spec.upstream); {_IMAGE}"
_ONE_OF_THESE = "Give one of these as target_version, or another channel (upgrade_channel)."
_REMEDIES = {
    "NoChannel": f"Give a channel (upgrade_channel); {_IMAGE}",
    "VersionNotFound": "Give a channel that has the present version, too (upgrade_channel).",
}
"""What to do for a reason of the condition RetrievedUpdates, none of which is that the service does not answer
(cluster-version-operator, `pkg/cvo/availableupdates.go` and `pkg/cincinnati/cincinnati.go`)."""


def offered(version: ClusterVersion, target: UpgradeTarget) -> Iterator[Reason]:
    """The reasons for and against the update, as far as its offer goes.

    The cluster version operator takes an image whether a channel offers it or not, if it can verify it (openshift/api,
    `Update.image`).
    """
    listed = target.listed(version)
    if target.graph is not None:
        yield from _by_graph(version, target, target.graph)
    elif target.changes_channel(version):
        # The graph could not be had, and that is said already.
        return
    elif listed is not None:
        yield from _other_digest(listed, target)
        if not listed.recommended.true:
            yield from _risks(listed, target.accepted)
    elif target.image is not None:
        yield remark(
            "release_image_not_offered",
            f"Channel {version.channel or 'none'} of OpenShift does not offer {target}, so no update graph"
            f" supports an update from {version.present} to it. OpenShift takes its image only if it can verify it.",
        )
    elif target.trouble.state is not State.WAITING:
        yield refused("update_not_offered", *_not_listed(version, target.release))


def _by_graph(version: ClusterVersion, target: UpgradeTarget, graph: UpdateGraph) -> Iterator[Reason]:
    updates = graph.updates(version.present)
    found = updates.get(str(target))
    if found is None:
        yield refused("update_not_offered", *_not_in_graph(version.present, target.release, graph, updates))
        return
    said = f"The update graph offers {target} from {version.present} in channel {graph.channel}."
    yield remark("update_in_graph", said)
    yield from _other_digest(found, target)
    if found.risks:
        yield from _risks(found, target.accepted)


def _not_in_graph(present: str, target: Release, graph: UpdateGraph, updates: Mapping[str, Update]) -> tuple[str, str]:
    """Message and remedy for an update that a graph does not have."""
    of_target = f"a channel of {target.major}.{target.minor}, such as stable-{target.major}.{target.minor}"
    remedy = f"Give {of_target} (upgrade_channel)."
    if not graph.images:
        return f"The update graph has no release in channel {graph.channel}, so there may be no such channel.", remedy
    if present not in graph.images:
        said = f"Channel {graph.channel} does not have {present}, the present version, so it offers no update from it."
        return said, f"{remedy[:-1]}, or upgrade to a version that is in both channels first."
    there = f"it offers {_newest(updates)}" if updates else "it offers none"
    said = f"Channel {graph.channel} offers no update from {present} to {target}: {there}."
    if updates and (str(target) in graph.images or graph.channel.endswith(f"-{target.major}.{target.minor}")):
        remedy = _ONE_OF_THESE
    return said, remedy


def _newest(versions: Collection[str]) -> str:
    found = filter(None, map(release_in, versions))
    return first_few([str(each) for each in sorted(found, reverse=True)])


def _not_listed(version: ClusterVersion, target: Release) -> tuple[str, str]:
    """Message and remedy for an update that the cluster does not list."""
    channel = version.channel or "none"
    retrieved = version.condition("RetrievedUpdates")
    if retrieved.false:
        cause = f"OpenShift could not retrieve the updates of its channel {channel}: {retrieved.message}"
        return cause, _REMEDIES.get(retrieved.reason, _UNREACHABLE)
    there = f"it offers {_newest(version.updates)}" if version.updates else "it offers none"
    return (
        f"Channel {channel} of OpenShift does not offer {target}: {there}.",
        _ONE_OF_THESE,
    )


def _other_digest(found: Update, target: UpgradeTarget) -> Iterator[Reason]:
    """Mirrors have the same digests under other names."""
    if target.image is None or found.image.endswith(f"@{target.image.digest}"):
        return
    yield refused(
        "release_image_mismatch",
        f"The image {target.image} is not the one that channel {target.channel} has for {target}: that is"
        f" {found.image}.",
        "Give that one (release_image), or leave release_image out.",
    )


def _risks(update: Update, accepted: Collection[str]) -> Iterator[Reason]:
    """An update with risks takes consent to each of them, by name."""
    said = update.recommended
    state = "cannot be evaluated" if said.status == "Unknown" else "applies to this cluster"
    if said is NOT_EVALUATED:
        state = "may apply to this cluster"
    for risk in update.risks:
        message = f"The update to {update.version} has the risk {risk.name}, which {state}: {risk.message}"
        if risk.name in accepted:
            yield remark("update_risk_accepted", message)
        else:
            yield refused(
                "update_risk",
                message,
                f"Read {risk.url or 'its page'}. To accept the risk, name it in accept_risks.",
            )
