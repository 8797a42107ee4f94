"""The policy of the service: the allow-list, the budget of a task, and the gates. Pure: no I/O."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .fields import Segments, segments

OBJECTS = ("machine", "infrastructureMachine", "bootstrapConfig")
GATED_HOOKS = (
    "BeforeClusterUpgrade",
    "BeforeControlPlaneUpgrade",
    "AfterControlPlaneUpgrade",
    "BeforeWorkersUpgrade",
    "AfterWorkersUpgrade",
    "AfterClusterUpgrade",
)
REPLACE, HOLD = "replace", "hold"

DEFAULT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "machine": ("spec.version",),
    "infrastructureMachine": (),
    # The controller of the control plane changes feature gates by itself between minor versions.
    "bootstrapConfig": ("spec.clusterConfiguration.featureGates",),
}

_CLUSTERS = re.compile(r"\*|[a-z0-9*?\[\]!-]+/[a-z0-9.*?\[\]!-]+")
"""A pattern of namespace/name: `prod*` alone would mean namespaces to this service, and names to its reader. The names
have these letters (DNS labels and subdomains, RFC 1123)."""


class PolicyError(ValueError):
    """A policy that cannot be used: one sentence that names the key and the remedy."""


@dataclass(frozen=True)
class Budget:
    """The limits of one task. All times are in seconds."""

    attempts: int = 3
    deadline: int = 7200
    pause: int = 60
    poll: int = 15

    def of_machines(self, number: int) -> Budget:
        """The limits of one task for so many machines, which has the deadline of each."""
        return replace(self, deadline=self.deadline * max(1, number))


@dataclass(frozen=True)
class GateRule:
    """The hooks that a gate holds, for which clusters, and the age up to which its record counts, in seconds."""

    hooks: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ("*",)
    max_age: int = 600
    poll: int = 30
    url: str = ""

    def asks(self, hook: str, cluster: str) -> bool:
        """Whether the gate is asked at a hook for a cluster, as namespace/name."""
        return hook in self.hooks and any(fnmatch.fnmatchcase(cluster, pattern) for pattern in self.clusters)


@dataclass(frozen=True)
class ExternalRule:
    """How an ExternalUpgrade is carried out: by an UpgradeTask, which names this upgrader, or by a task per machine.

    Of the UpgradeTasks of an owner that are complete, the last ones are kept, as `successfulJobsHistoryLimit` keeps the
    Jobs of a CronJob (Kubernetes, `batch/v1`). At least one is, because it answers its request.
    """

    upgrade_task: bool = False
    upgrader: Mapping[str, str] = field(default_factory=dict)
    upgrade_tasks_kept: int = 3


@dataclass(frozen=True)
class Policy:
    """All that the operator of the service decides."""

    in_place: bool = True
    uncovered: str = REPLACE
    fields: Mapping[str, tuple[Segments, ...]] = field(
        default_factory=lambda: {name: tuple(map(segments, paths)) for name, paths in DEFAULT_FIELDS.items()}
    )
    budget: Budget = Budget()
    gate: GateRule = GateRule()
    external: ExternalRule = ExternalRule()


def policy_of(written: Any) -> Policy:
    """The policy that a file holds; an empty file is the default.

    Raises:
        PolicyError: a key is unknown or has a value of the wrong kind.
    """
    top = _section(written, "the policy", ("in_place", "uncovered", "fields", "budget", "gate", "external"))
    uncovered = top.get("uncovered", REPLACE)
    if uncovered not in (REPLACE, HOLD):
        raise PolicyError(f"uncovered is {uncovered!r}: write {REPLACE} or {HOLD}")
    return Policy(
        _flag(top.get("in_place", True), "in_place"),
        uncovered,
        _fields(top.get("fields")),
        _budget(top.get("budget")),
        _gate(top.get("gate")),
        _external(top.get("external")),
    )


def _fields(written: Any) -> dict[str, tuple[Segments, ...]]:
    section = {**DEFAULT_FIELDS, **_section(written, "fields", OBJECTS)}
    written_paths = {name: _texts(paths, f"fields.{name}") for name, paths in section.items()}
    try:
        return {name: tuple(map(segments, paths)) for name, paths in written_paths.items()}
    except ValueError as error:
        raise PolicyError(f"fields: {error}") from error


def _budget(written: Any) -> Budget:
    section = _section(written, "budget", ("attempts", "deadline", "pause", "poll"))
    return Budget(**{name: _number(value, f"budget.{name}") for name, value in section.items()})


def _gate(written: Any) -> GateRule:
    section = _section(written, "gate", ("hooks", "clusters", "max_age", "poll", "url"))
    hooks = _texts(section.get("hooks", ()), "gate.hooks")
    if unknown := [hook for hook in hooks if hook not in GATED_HOOKS]:
        raise PolicyError(f"gate.hooks has {', '.join(unknown)}: take hooks of {', '.join(GATED_HOOKS)}")
    url = section.get("url", "")
    if not isinstance(url, str) or (url and not url.startswith("https://")):
        raise PolicyError("gate.url is no address: write one that starts with https://")
    numbers = {name: _number(section[name], f"gate.{name}") for name in ("max_age", "poll") if name in section}
    clusters = _texts(section.get("clusters", ("*",)), "gate.clusters")
    # One that is meant for a cluster and cannot match it would let that cluster pass without its gate.
    if vain := [each for each in clusters if not _CLUSTERS.fullmatch(each)]:
        said = ", ".join(each or "an empty text" for each in vain)
        raise PolicyError(f"gate.clusters has {said}: write namespace/name, or a pattern of it such as prod*/*")
    if hooks and not clusters:
        raise PolicyError("gate.clusters is empty, so no cluster would be held: leave it out for all of them")
    return GateRule(hooks, clusters, url=url, **numbers)


def _external(written: Any) -> ExternalRule:
    section = _section(written, "external", ("upgrade_task", "upgrader", "upgrade_tasks_kept"))
    kept = {name: _number(section[name], f"external.{name}") for name in ("upgrade_tasks_kept",) if name in section}
    upgrade_task = _flag(section.get("upgrade_task", False), "external.upgrade_task")
    upgrader = _section(section.get("upgrader"), "external.upgrader", ("apiVersion", "kind", "namespace", "name"))
    if upgrader and not upgrade_task:
        raise PolicyError("external.upgrader is that of an UpgradeTask: write external.upgrade_task: true as well")
    if wrong := [name for name, value in upgrader.items() if not isinstance(value, str) or not value]:
        raise PolicyError(f"external.upgrader.{wrong[0]} is no text")
    if upgrader and "name" not in upgrader:
        raise PolicyError("external.upgrader has no name: write that of the object that upgrades the machines")
    return ExternalRule(upgrade_task, upgrader, **kept)


def _section(written: Any, name: str, known: tuple[str, ...]) -> dict[str, Any]:
    if written is None:
        return {}
    if not isinstance(written, Mapping):
        raise PolicyError(f"{name} is no mapping: write keys of {', '.join(known)}")
    if unknown := sorted(str(key) for key in written if key not in known):
        raise PolicyError(f"{name} has the unknown key {', '.join(unknown)}: take keys of {', '.join(known)}")
    return {str(key): value for key, value in written.items()}


def _texts(written: Any, name: str) -> tuple[str, ...]:
    if not isinstance(written, list | tuple) or not all(isinstance(item, str) for item in written):
        raise PolicyError(f"{name} is no list of texts")
    return tuple(written)


def _flag(written: Any, name: str) -> bool:
    if not isinstance(written, bool):
        raise PolicyError(f"{name} is {written!r}: write true or false")
    return written


def _number(written: Any, name: str) -> int:
    if isinstance(written, bool) or not isinstance(written, int) or written < 1:
        raise PolicyError(f"{name} is {written!r}: write a whole number above 0")
    return written
