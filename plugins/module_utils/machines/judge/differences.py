"""The whole difference between a machine and its wanted specification, and whether it can be changed in place. Pure.

A specification has the version of Kubernetes and two objects of Cluster API: `bootstrapConfig` and `infraMachine`. Of
the objects only kind and `spec` count. A sentence names fields and never their values, which may be secrets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...common.verdict import Reason, refused
from ..observe.upgrade_tasks import BOOTSTRAP, COMPARED, INFRASTRUCTURE, OBJECTS, SPECIFIED_VERSION

FieldPath = tuple[str, ...]
BY_KUBEADM = (
    SPECIFIED_VERSION,
    f"{BOOTSTRAP}.spec.clusterConfiguration.kubernetesVersion",
    f"{BOOTSTRAP}.spec.clusterConfiguration.featureGates.ControlPlaneKubeletLocalMode",
)
"""The fields that an upgrade by kubeadm changes. Cluster API sets the feature gate itself between minor versions
(`controlplane/kubeadm/pkg/workload_cluster.go`), so that it is part of every such upgrade."""
IGNORED = (f"{INFRASTRUCTURE}.spec.providerID",)
"""The fields that an infrastructure provider writes into the object of a machine that is there, and no template has."""
ANY, REST = "*", "**"
"""The parts of a pattern that stand for one name, and at its end for all names below."""


@dataclass(frozen=True)
class Difference:
    """One field that differs."""

    path: FieldPath

    @property
    def name(self) -> str:
        """The path as people write it."""
        return ".".join(self.path)


@dataclass(frozen=True)
class DifferenceOfMachine:
    """The difference of one machine, and the part of it that cannot be changed in place."""

    machine: str
    found: tuple[Difference, ...]
    uncovered: tuple[Difference, ...]


def differences(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Every field in which a machine differs from its wanted specification; an absent one counts as empty.

    An object or the version that the wanted specification does not have stays as it is.
    """
    found: list[Difference] = []
    if wanted.get(SPECIFIED_VERSION) and _plain(present.get(SPECIFIED_VERSION)) != _plain(wanted[SPECIFIED_VERSION]):
        found.append(Difference((SPECIFIED_VERSION,)))
    for name in OBJECTS:
        if wanted.get(name) is None:
            continue
        before, after = present.get(name) or {}, wanted[name]
        for each in COMPARED:
            found += _of_values(before.get(each), after.get(each), (name, each))
    return tuple(each for each in found if not is_covered(each, IGNORED))


def _plain(version: object) -> str:
    return str(version or "").removeprefix("v")


def _of_values(before: Any, after: Any, path: FieldPath) -> Iterator[Difference]:
    """Lists are compared as a whole: the place of an entry says nothing of which one it is."""
    if _is_empty(before) and _is_empty(after):
        return
    one, other = _fields(before), _fields(after)
    if one is None or other is None:
        if before != after or isinstance(before, bool) != isinstance(after, bool):
            yield Difference(path)
        return
    for name in sorted({*one, *other}):
        yield from _of_values(one.get(name), other.get(name), (*path, name))


def _is_empty(value: Any) -> bool:
    return value is None or value in ({}, [])


def _fields(value: Any) -> Mapping[str, Any] | None:
    """The fields of an object, of which an absent one has none; None for a value without fields."""
    return {} if _is_empty(value) else value if isinstance(value, Mapping) else None


def is_covered(difference: Difference, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns covers a field: a path with dots, `*` for one name, `**` at its end for all below."""
    return any(_matches(pattern.split("."), difference.path) for pattern in patterns)


def _matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    if pattern and pattern[-1] == REST:
        start = pattern[:-1]
        return len(path) > len(start) and _matches(start, path[: len(start)])
    return len(pattern) == len(path) and all(one in (ANY, other) for one, other in zip(pattern, path, strict=True))


def difference_of(
    machine: str, present: Mapping[str, Any], wanted: Mapping[str, Any], covers: Iterable[str]
) -> DifferenceOfMachine:
    """The difference of a machine, judged by the fields that can be changed in place."""
    found, patterns = differences(present, wanted), tuple(covers)
    return DifferenceOfMachine(machine, found, tuple(each for each in found if not is_covered(each, patterns)))


def reasons_of(found: DifferenceOfMachine) -> Iterator[Reason]:
    """One reason for each field that cannot be changed in place."""
    for each in found.uncovered:
        yield refused(
            "machine_differs",
            f"Machine {found.machine} differs in {each.name}, which cannot be changed in place.",
            "Leave it, replace the machine, or name the field in spec.template.covers if the upgrader changes it.",
        )
