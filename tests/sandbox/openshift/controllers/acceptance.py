"""Rules by which the version operator takes an update or does not; functions of the ClusterVersion alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tests.sandbox.kubernetes.objects import Json, condition_of
from tests.sandbox.openshift.update_service import numbers_of

_VERSION = re.compile(r"^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$")
_GATE = re.compile(r"^ack-([4-9][.][0-9]{1,})-[^-]")


def invalid(item: Json) -> str:
    """The fault of a ClusterVersion (`lib/validation/validation.go`); empty: it has none."""
    update = item["spec"].get("desiredUpdate")
    if update is None:
        return ""
    version, image = update.get("version", ""), update.get("image", "")
    if not update.get("architecture") and not version and not image:
        return "spec.desiredUpdate: Required value: must specify architecture, version, or image"
    at = f'spec.desiredUpdate.version: Invalid value: "{version}": '
    if version and not _VERSION.match(version):
        return f"{at}must be a semantic version (1.2.3[-...])"
    if version and not image:
        count = _payloads(item, version)
        if count == 0:
            return f"{at}when image is empty the update must be an available update"
        if count > 1:
            return f"{at}there are multiple possible payloads for this version, specify the exact image"
    return ""


def _payloads(item: Json, version: str) -> int:
    status = item.get("status", {})
    count = sum(each["version"] == version for each in status.get("availableUpdates") or [])
    return count or int(any(each["version"] == version for each in status.get("history") or []))


def wanted(item: Json) -> tuple[str, str, bool] | None:
    """Version, image and force of the update that is wanted (`findUpdateFromConfig` in `pkg/cvo/updatepayload.go`).

    A version without an image has to be among the available updates: one with a risk that applies takes its image. One
    with a mode is only checked (openshift/api, `Update.mode`).
    """
    update = item["spec"].get("desiredUpdate")
    if update is None or update.get("mode") or invalid(item):
        return None
    version, image, force = update.get("version", ""), update.get("image", ""), bool(update.get("force"))
    if image:
        return version, image, force
    for each in item.get("status", {}).get("availableUpdates") or []:
        if each["version"] == version:
            return version, each["image"], force
    return None


def is_minor(before: str, after: str) -> bool:
    """Whether an update goes beyond the minor version."""
    return numbers_of(after)[:2] > numbers_of(before)[:2]


def preconditions(item: Json, version: str) -> str:
    """The reasons against an update that block it (`pkg/payload/precondition/clusterversion`); empty: there is none."""
    current = item["status"]["desired"]["version"]
    found = [*_giant_hop(current, version), *_not_upgradeable(item, current, version), *_back(item, current, version)]
    if not found:
        return ""
    said = [f'Precondition "{name}" failed because of "{reason}": {message}' for name, reason, message in found]
    return said[0] if len(said) == 1 else "Multiple precondition checks failed:\n* " + "\n* ".join(said)


def _giant_hop(current: str, version: str) -> Iterable[tuple[str, str, str]]:
    before, after = numbers_of(current), numbers_of(version)
    if after[0] == before[0] and after[1] > before[1] + 1:
        yield (
            "ClusterVersionGiantHop",
            "MultipleMinorVersionsUpdate",
            f"{version} is more than one minor version beyond the current target {current}",
        )


def _not_upgradeable(item: Json, current: str, version: str) -> Iterable[tuple[str, str, str]]:
    found = condition_of(item, "Upgradeable")
    if is_minor(current, version) and found.get("status") == "False":
        yield "ClusterVersionUpgradeable", found["reason"], found["message"]


def _back(item: Json, current: str, version: str) -> Iterable[tuple[str, str, str]]:
    if numbers_of(version) >= numbers_of(current):
        return
    image = item["status"]["desired"]["image"]
    others = [each for each in item["status"]["history"] if each["image"] != image]
    previous = others[0]["version"] if others else ""
    if version != previous or numbers_of(previous)[:2] != numbers_of(current)[:2]:
        said = f"{version} is less than the current target {current}"
        yield "ClusterVersionRollback", "LowDesiredVersion", said


def upgradeable_risks(
    item: Json, operators: Iterable[Json], gates: Mapping[str, str], acks: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Name and message of all that is against a minor update (`pkg/risk`, the sources of `pkg/cvo/cvo.go`)."""
    found = []
    if condition_of(item, "Progressing").get("status") == "True":
        said = "An update is already in progress and the details are in the Progressing condition."
        found.append(("ClusterVersionUpdating", said))
    if any(each.get("unmanaged") for each in item["spec"].get("overrides") or []):
        said = "Disabling ownership via cluster version overrides prevents upgrades between minor or major versions."
        found.append(("ClusterVersionOverrides", said))
    minor = ".".join(str(each) for each in numbers_of(item["status"]["desired"]["version"])[:2])
    for gate in sorted(gates):
        asks = _GATE.match(gate)
        if (asks is None or asks[1] == minor) and acks.get(gate) != "true":
            found.append(
                (f"AdminAck-{gate}", gates[gate] or f"admin-gates configmap gate {gate} must contain a value.")
            )
    for operator in operators:
        told = condition_of(operator, "Upgradeable")
        if told.get("status") == "False":
            found.append((f"ClusterOperatorUpgradeable-{operator['metadata']['name']}", told.get("message", "")))
    return found
