"""A cluster before a gate, for tests: three members that all vote, changed by keyword."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.checks import CHECKS, Selection
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.gates import Scope, judge
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.certificates import Certificate
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.configured import Configured
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.disk import Disks
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.explanation import Explanation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.index_filters import IndexFilters
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.last_snapshot import Saved
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.look import Look
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.managed_indices import Managed
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import Settings
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.tasks import LongTask
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    coordination,
    copy,
    health,
    info,
)

ENABLE = "cluster.routing.allocation.enable"
NEW = Version(3, 8, 0)
UNTOUCHED, STRICT = Settings({}, {}), Policy()
ALL = "abc"
WHOLE = [copy("i", "a", primary=True), copy("i", "b"), copy("j", "c", primary=True), copy("j", "b")]
Said = set[tuple[str, State]]


@dataclass
class Case:
    """A cluster of three members that all vote, changed by keyword, and the gate before it."""

    present: str = ALL
    versions: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    copies: Sequence[Json] = tuple(WHOLE)
    status: str = "green"
    health: Json = field(default_factory=dict)
    settings: Settings = UNTOUCHED
    explanations: tuple[Explanation, ...] = ()
    batch: str = ""
    members: str = ALL
    target: Version | None = NEW
    policy: Policy = STRICT
    parts: Json = field(default_factory=dict)
    disks: Disks = field(default_factory=Disks)
    tasks: tuple[LongTask, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    saved: Saved | None = None
    configured: Configured | None = None
    managed: Managed | None = None
    filters: Mapping[str, IndexFilters] = field(default_factory=dict)
    snapshot_age: float | None = None
    skip: tuple[str, ...] = ()
    add: tuple[str, ...] = ()

    def judged(self, moment: str) -> Verdict:
        own = {"attributes": dict(self.attributes)}
        members = {name: info(name, self.versions.get(name, "2.19.6")) | own for name in self.present}
        for name, roles in self.roles.items():
            members[name]["roles"] = list(roles)
        parts = {"voting": coordination(ALL), **self.parts}
        seen = Look(
            cluster(members, self.copies, **parts),
            health(self.status, **self.health),
            self.settings,
            self.explanations,
            self.disks,
            self.tasks,
            certificates=self.certificates,
            saved=self.saved,
            configured=self.configured,
            managed=self.managed,
            filters=self.filters,
        )
        selection = Selection(frozenset(self.skip), frozenset(self.add))
        scope = Scope(
            moment,
            frozenset(self.members),
            frozenset(self.batch),
            self.target,
            self.policy,
            selection,
            self.snapshot_age,
        )
        verdict = judge(seen, scope)
        made = selection.at(moment)
        known = {code for check in CHECKS if check.name in made for code in check.codes}
        assert {reason.code for reason in verdict.reasons} <= known | {"check_skipped"}
        return verdict

    def said(self, moment: str) -> Said:
        return {(reason.code, reason.state) for reason in self.judged(moment).reasons}


def case(**changes: Any) -> Case:
    return Case(**changes)


UPGRADED = dict.fromkeys(ALL, "3.8.0")
