"""The answers to CanUpdateMachine, CanUpdateMachineSet and ExternalUpgradeRequest. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .bodies import failure, optional_part, part, success
from .fields import Difference, Json, Segments, differences, encoded, json_patch, not_covered, shown
from .policy import HOLD, OBJECTS, REPLACE, Policy

SPEC, TEMPLATE = ("spec",), ("spec", "template", "spec")

# Cluster API does not compare these (CleanupMachineSpecForDiff): they never change, or change without a rollout.
NEVER_COMPARED: frozenset[Segments] = frozenset(
    ("spec", *name.split("."))
    for name in (
        "clusterName",
        "bootstrap",
        "infrastructureRef",
        "providerID",
        "minReadySeconds",
        "readinessGates",
        "taints",
        "deletion.nodeDrainTimeoutSeconds",
        "deletion.nodeVolumeDetachTimeoutSeconds",
        "deletion.nodeDeletionTimeoutSeconds",
    )
)
SET_OBJECTS = {
    "machine": "machineSet",
    "infrastructureMachine": "infrastructureMachineTemplate",
    "bootstrapConfig": "bootstrapConfigTemplate",
}
DISABLED = "disableInPlaceUpdates"
UNCOVERED = "uncovered"
"""Settings of the ExtensionConfig, which each request carries."""
SETTINGS: Mapping[str, tuple[str, ...]] = {DISABLED: ("true", "false"), UNCOVERED: (REPLACE, HOLD)}
"""The values of each, in small letters."""


@dataclass(frozen=True)
class Coverage:
    """The result of a comparison: the changes of each object, and the fields that no path allows, as object.path."""

    changes: Mapping[str, Sequence[Difference]]
    uncovered: tuple[str, ...]


def covered(current: Json, desired: Json, policy: Policy, names: Mapping[str, str], root: Segments) -> Coverage:
    """Compares three objects below `root` with the allow-list; `names` has the name of each in the request."""
    changes: dict[str, list[Difference]] = {}
    uncovered: list[str] = []
    for kind, name in names.items():
        before, wanted = (_below(optional_part(objects, name), root) for objects in (current, desired))
        found = [each for each in differences(before, wanted, SPEC) if not (kind == "machine" and _skipped(each))]
        uncovered += [f"{name}.{shown(_deep(path, root))}" for path in not_covered(found, policy.fields[kind])]
        if found:
            changes[name] = [Difference(_deep(each.path, root), each.before, each.wanted) for each in found]
    return Coverage(changes, tuple(uncovered))


def _below(item: Json, root: Segments) -> Any:
    return optional_part(item, *root)


def _deep(path: Segments, root: Segments) -> Segments:
    return (*root, *path[1:])


def _skipped(change: Difference) -> bool:
    # A deletion that one side does not have at all holds nothing but fields that are never compared.
    return any(change.path[: len(path)] == path for path in NEVER_COMPARED) or change.path == ("spec", "deletion")


def can_update_machine(body: Json, policy: Policy) -> Json:
    """The answer to CanUpdateMachine: three patches, or none and the list of fields.

    A setting with another value is a failure, after which nothing is replaced: a misspelt `hold` is no consent to that.
    """
    return _answered("CanUpdateMachine", body, policy, {name: name for name in OBJECTS}, SPEC)


def can_update_machine_set(body: Json, policy: Policy) -> Json:
    """The answer to CanUpdateMachineSet, by the same allow-list. Cluster API compares spec.template.spec alone."""
    return _answered("CanUpdateMachineSet", body, policy, SET_OBJECTS, TEMPLATE)


def _answered(hook: str, body: Json, policy: Policy, names: Mapping[str, str], root: Segments) -> Json:
    current, desired = part(body, "current"), part(body, "desired")
    for objects in (current, desired):
        for name in (names["machine"], names["infrastructureMachine"]):
            part(objects, name)
    settings = {name: value.lower() for name, value in optional_part(body, "settings").items()}
    if wrong := [name for name, known in SETTINGS.items() if settings.get(name, known[0]) not in known]:
        remedies = "; ".join(f"{each} is {settings[each]!r}: write {' or '.join(SETTINGS[each])}" for each in wrong)
        return failure(hook, f"The upgrade is held, because a setting of the ExtensionConfig is wrong. {remedies}.")
    if settings.get(DISABLED) == "true":
        return success(hook, f"The setting {DISABLED} is true: Cluster API replaces {_named(desired, names)}.")
    found = covered(current, desired, policy, names, root)
    if found.uncovered:
        return declined(hook, found.uncovered, settings.get(UNCOVERED, policy.uncovered), _named(desired, names))
    patches = {f"{name}Patch": encoded(json_patch(each)) for name, each in found.changes.items()}
    return {**success(hook), **patches}


def _named(desired: Json, names: Mapping[str, str]) -> str:
    item = part(desired, names["machine"])
    metadata = optional_part(item, "metadata")
    return f"{item.get('kind', 'Machine')} {metadata.get('namespace', '')}/{metadata.get('name', '')}"


def declined(hook: str, uncovered: Sequence[str], uncovered_means: str, name: str) -> Json:
    """The answer if not all is covered: a success without patches, or a failure, after which nothing is replaced."""
    listed = f"The allow-list does not cover {', '.join(uncovered)} of {name}."
    if uncovered_means == HOLD:
        return failure(
            hook,
            f"{listed} The upgrade is held, and nothing is replaced: add the fields to the allow-list, "
            "undo the change, or let the policy say uncovered: replace.",
        )
    return success(hook, f"{listed} This is declined, so Cluster API replaces it by an ordinary rollout.")
