"""Whether OpenShift may be upgraded to a version: all that stands against it, at once. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

from ...common.release import Release, release_in
from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ..observe.minors import LAST_OF_4, minors_between, next_minor
from ..observe.state import MULTI, AdminGate, ClusterVersion, OpenShift
from ..observe.target import UpgradeTarget
from .chain import chain_of, chain_text
from .left_out import UPGRADEABLE
from .offer import offered
from .release_image import fitting


@as_verdict
def judge_target(
    seen: OpenShift, target: UpgradeTarget, gates: Collection[AdminGate] = (), without: Collection[str] = ()
) -> Iterator[Reason]:
    """Whether the cluster may go from its present version to the target, now and by the channel that it is to have.

    `gates` are the acknowledgements that are missing, and `without` the named steps that are left out.
    """
    version = seen.version
    if version.is_commenced(str(target)):
        yield from _another_image(version, target)
        return
    yield from target.trouble.reasons
    yield from fitting(seen, target)
    yield from _architecture(version, target)
    yield from _another_update(version)
    yield from _unmanaged(version)
    present = release_in(version.present)
    if present is None:
        yield refused(
            "no_complete_version",
            f"The ClusterVersion names no version that is complete ({version.present or 'none'}).",
            "Complete the update that is in progress first.",
        )
        return
    if target.release <= present:
        yield refused(
            "not_greater", f"OpenShift is at {present} already, and {target} is not greater.", "Give a later version."
        )
        return
    minors = minors_between(present, target.release)
    if minors > 1:
        past = present.major < target.release.major and (present.major, present.minor) > LAST_OF_4
        yield _past_the_last(present) if past else _skipped(present, target)
        return
    if minors == 1 and UPGRADEABLE not in without:
        yield from map(_acknowledgement, gates)
        yield from _upgradeable(version, gates)
    yield from offered(version, target)


def _skipped(present: Release, target: UpgradeTarget) -> Reason:
    """The refusal, whose remedy names the versions on the way."""
    hops = chain_of(present, target.release, target.chain)
    remedy = chain_text(present, target.release, hops, added=target.is_chained)
    if not remedy:
        remedy = f"Upgrade to a version {next_minor(present, target.release)} first."
        if target.without_chain:
            remedy = f"{remedy} The versions in between cannot be named: {target.without_chain}"
        elif target.chain:
            remedy = (
                f"{remedy} The update graph leads there in none of {', '.join(each.channel for each in target.chain)}."
            )
    said = f"From {present} to {target} a minor version would be skipped, which OpenShift does not support."
    return refused("minor_skipped", said, remedy)


def _past_the_last(present: Release) -> Reason:
    said = f"{present} has a later Kubernetes than OpenShift 5.0, which comes first, so no update leads there."
    return refused("later_kubernetes", said, f"Give another version of {present.major}.")


def _another_image(version: ClusterVersion, target: UpgradeTarget) -> Iterator[Reason]:
    image = version.wanted_image
    if target.image is not None and version.wanted == str(target) and image and target.image.digest not in image:
        yield refused(
            "release_image_mismatch",
            f"OpenShift is on its way to {target} by the image {image}, and not by {target.image}.",
            "Give that image (release_image), or leave release_image out.",
        )


def _architecture(version: ClusterVersion, target: UpgradeTarget) -> Iterator[Reason]:
    """Whether the update may be asked for with an architecture (openshift/api, `Update.architecture`).

    The change to several architectures is an update of its own, to the present version (cluster-version-operator,
    `GetUpdates` in `pkg/cincinnati/cincinnati.go`). A cluster that has made it stays so.
    """
    if not target.is_multi:
        return
    if target.image is not None:
        yield refused(
            "architecture_with_image",
            f"The image {target.image} and the architecture Multi are both given, which OpenShift does not take.",
            "Leave one of them out (release_image, upgrade_architecture).",
        )
    if version.architecture != MULTI:
        yield refused(
            "architecture_single",
            f"OpenShift changes to the architecture Multi at its present version {version.present} alone, and {target}"
            " is another one.",
            "Make that change first: oc adm upgrade --to-multi-arch. Then run again.",
        )


def _unmanaged(version: ClusterVersion) -> Iterator[Reason]:
    """A remark on objects that stay as they are.

    For another minor version they make OpenShift not `Upgradeable`, and many releases accept no update at all then
    (`ClusterVersionOverridesCondition` in `pkg/payload/precondition/clusterversion/upgradeable.go` of
    cluster-version-operator).
    """
    if version.unmanaged:
        said = (
            f"spec.overrides of the ClusterVersion leaves {enumerate_few(version.unmanaged)} alone, so that no update"
            " reaches it, and OpenShift may not accept the update."
        )
        yield remark("overrides_set", said, "Remove the override first.")


def _another_update(version: ClusterVersion) -> Iterator[Reason]:
    if version.history and not version.has_completed(version.history[0].version):
        yield refused(
            "update_under_way",
            f"OpenShift is on its way to {version.history[0].version}, begun at {version.history[0].started}.",
            "Wait until that update is complete, or give its version as target_version.",
        )
    elif other := _wanted_by_another(version):
        accepted = version.condition("ReleaseAccepted")
        said = f": {accepted.message or accepted.reason}" if accepted.false else "."
        yield refused(
            "another_update_wanted",
            f"The desired update of OpenShift is {other}, which it has not begun{said}",
            "Give that one (target_version, release_image), or withdraw it: oc adm upgrade --clear.",
        )


def _wanted_by_another(version: ClusterVersion) -> str:
    """The update that is desired, and neither begun nor reached; empty if there is none. It begins once it is accepted.

    One that is desired by its image alone has no version. Mirrors have the same digests under other names.
    """
    if version.wanted:
        return version.wanted if version.wanted not in {each.version for each in version.history[:1]} else ""
    wanted, present = (each.rpartition("@")[2] for each in (version.wanted_image, version.desired_image))
    return version.wanted_image if wanted != present else ""


def is_next_minor(version: ClusterVersion, target: UpgradeTarget) -> bool:
    """Whether the update to the target is one to the next minor version, and is not commenced."""
    present = release_in(version.present)
    return (
        present is not None and not version.is_commenced(str(target)) and minors_between(present, target.release) == 1
    )


def _acknowledgement(gate: AdminGate) -> Reason:
    given = json.dumps({"data": {gate.name: "true"}}, separators=(",", ":"))
    return refused(
        "acknowledgement_missing",
        f"OpenShift asks for the acknowledgement {gate.name}: {gate.text or 'it does not say for what.'}",
        f"Do what it says; then: oc -n openshift-config patch cm admin-acks --patch '{given}' --type=merge",
    )


def _upgradeable(version: ClusterVersion, gates: Collection[AdminGate]) -> Iterator[Reason]:
    """The condition holds up only minor versions (openshift/api, `OperatorUpgradeable`)."""
    said = version.condition("Upgradeable")
    left = _without(said.message, gates)
    if said.false and (left or not said.message):
        yield refused(
            "not_upgradeable",
            f"OpenShift says that it cannot go to another minor version: {left or said.reason}",
            "Do what this message asks for; then run again.",
        )


def _without(message: str, gates: Collection[AdminGate]) -> str:
    """A message of this condition without what missing acknowledgements say, which have reasons of their own.

    One cause is a message by itself, several are a list (`setUpgradeableCondition` in `pkg/cvo/status.go` of
    cluster-version-operator).
    """
    for gate in gates:
        message = message.replace(gate.text, "") if gate.text else message
    head, *causes = message.split("\n* ")
    left = [each.strip() for each in causes if each.strip()]
    return head.strip() if not causes else "; ".join(left)
