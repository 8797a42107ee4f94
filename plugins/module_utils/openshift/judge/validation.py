"""Whether OpenShift may be upgraded to a version: all that stands against it, at once. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ..observe.release import Release
from ..observe.state import ClusterVersion, Gate, Update
from .left_out import UPGRADEABLE


def target_in(text: str) -> Release | None:
    """The version in a text; None if it is none."""
    try:
        return Release.parse(text)
    except ValueError:
        return None


@as_verdict
def judge_target(
    version: ClusterVersion,
    wanted: str,
    accepted: Collection[str],
    gates: Collection[Gate] = (),
    without: Collection[str] = (),
) -> Iterator[Reason]:
    """Whether the cluster may go from its present version to the wanted one, now and by the channel that it has.

    `gates` are the acknowledgements that are missing, and `without` the named steps that are left out.
    """
    target, present = target_in(wanted), target_in(version.present)
    if target is None:
        yield refused("version_unreadable", f"{wanted} is not a version of OpenShift.", "Give one such as 4.18.9.")
        return
    if version.is_commenced(wanted):
        return
    yield from _another_update(version)
    if present is None:
        yield refused(
            "no_complete_version",
            f"The ClusterVersion names no version that is complete ({version.present or 'none'}).",
            "Bring the update that is under way to its end first.",
        )
        return
    if target <= present:
        yield refused(
            "not_greater", f"OpenShift is at {present} already, and {target} is not greater.", "Give a later version."
        )
        return
    minors = present.minors_to(target)
    if minors > 1:
        yield refused(
            "minor_skipped",
            f"From {present} to {target} a minor version would be skipped, which OpenShift does not support.",
            f"Upgrade to a version {present.major}.{present.minor + 1} first.",
        )
        return
    if minors == 1 and UPGRADEABLE not in without:
        yield from map(_acknowledgement, gates)
        yield from _upgradeable(version, gates)
    yield from _offered(version, target, accepted)


def _another_update(version: ClusterVersion) -> Iterator[Reason]:
    if version.history and not version.has_completed(version.history[0].version):
        yield refused(
            "update_under_way",
            f"OpenShift is on its way to {version.history[0].version}, begun at {version.history[0].started}.",
            "Wait until that update is complete, or give its version as target_version.",
        )


def is_next_minor(version: ClusterVersion, wanted: str) -> bool:
    """Whether the update to the wanted version is one to the next minor version, and is not commenced."""
    target, present = target_in(wanted), target_in(version.present)
    if target is None or present is None or version.is_commenced(wanted):
        return False
    return present.minors_to(target) == 1


def _acknowledgement(gate: Gate) -> Reason:
    given = json.dumps({"data": {gate.name: "true"}}, separators=(",", ":"))
    return refused(
        "acknowledgement_missing",
        f"OpenShift asks for the acknowledgement {gate.name}: {gate.text or 'it does not say for what.'}",
        f"Do what it says; then: oc -n openshift-config patch cm admin-acks --patch '{given}' --type=merge",
    )


def _upgradeable(version: ClusterVersion, gates: Collection[Gate]) -> Iterator[Reason]:
    """The condition holds minor versions up only (openshift/api, `OperatorUpgradeable`)."""
    said = version.condition("Upgradeable")
    left = _without(said.message, gates)
    if said.false and (left or not said.message):
        yield refused(
            "not_upgradeable",
            f"OpenShift says that it cannot go to another minor version: {left or said.reason}",
            "Do what this message asks for; then run again.",
        )


def _without(message: str, gates: Collection[Gate]) -> str:
    """A message of this condition without what missing acknowledgements say, which have reasons of their own.

    One cause is a message by itself, several are a list (`setUpgradeableCondition` in `pkg/cvo/status.go` of
    cluster-version-operator).
    """
    for gate in gates:
        message = message.replace(gate.text, "") if gate.text else message
    head, *causes = message.split("\n* ")
    left = [each.strip() for each in causes if each.strip()]
    return head.strip() if not causes else "; ".join(left)


def _offered(version: ClusterVersion, target: Release, accepted: Collection[str]) -> Iterator[Reason]:
    found = version.updates.get(str(target))
    if found is None:
        yield refused("update_not_offered", *_not_offered(version, target))
        return
    if not found.recommended.true:
        yield from _risks(found, accepted)


def _not_offered(version: ClusterVersion, target: Release) -> tuple[str, str]:
    channel = version.channel or "none"
    retrieved = version.condition("RetrievedUpdates")
    if retrieved.false:
        cause = f"OpenShift could not retrieve the updates of its channel {channel}: {retrieved.message}"
        return cause, "See whether the update service can be reached from the cluster (spec.upstream)."
    known = sorted(filter(None, map(target_in, version.updates)))
    there = f"it offers {enumerate_few(list(map(str, known)))}" if known else "it offers none"
    return (
        f"Channel {channel} of OpenShift does not offer {target}: {there}.",
        "Give one of these as target_version, or set another channel (oc adm upgrade channel).",
    )


def _risks(update: Update, accepted: Collection[str]) -> Iterator[Reason]:
    """An update with risks takes consent to each of them, by name."""
    state = "cannot be evaluated" if update.recommended.status == "Unknown" else "applies to this cluster"
    for risk in update.risks:
        said = f"The update to {update.version} has the risk {risk.name}, which {state}: {risk.message}"
        if risk.name in accepted:
            yield remark("update_risk_accepted", said)
        else:
            yield refused(
                "update_risk",
                said,
                f"Read {risk.url or 'its page'}, and accept it by name with accept_risks if you bear it.",
            )
