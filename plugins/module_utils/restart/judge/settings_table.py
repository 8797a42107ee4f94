"""The changed settings between two configurations, each with the effect of its change. Pure.

Effects that a user gives come first, by name or by pattern. For a setting that no rule knows, such as one of a plugin,
the members restart one after the other, which is right unless they have to agree on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ...common.errors import refusal
from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from .http_scheme import GivenAddresses, scheme_change
from .setting_rules import RULES, Rule, SettingEffect

_OTHER = {"http": "https", "https": "http"}
HIDDEN = "(hidden)"
"""The text that is shown for a value that may be a secret."""
GIVEN = "the user"
"""The source of a rule that a user has given."""

_SECRET_NAME = re.compile(
    r"pass|secret|token|credential|private|signing|(^|[._-])jwt|key$|salt|community|dsn", re.IGNORECASE
)
_SECRET_VALUE = re.compile(r"://[^/\s]*@|-----BEGIN|\b(basic|bearer)\s+\S", re.IGNORECASE)

Flat = Mapping[str, str]


@dataclass(frozen=True)
class SettingChange:
    """One setting that changes. Its values are in no text of this object, since they may be secrets."""

    name: str
    way: SettingEffect
    why: str
    source: str
    """The place where the rule is written; empty if no rule knows the setting."""
    before: str | None = field(repr=False)
    """The value now; None if it is not set."""
    after: str | None = field(repr=False)
    of_scheme: bool = False
    """Whether the servers answer over http instead of https with it, or the other way round."""
    scheme: str = ""
    """The scheme by which they answer with it, if it changes; empty if that depends on a variable."""

    def sentence(self) -> str:
        """One line for the plan, without values."""
        verb = "is set" if self.before is None else "is no longer set" if self.after is None else "changes"
        return f"{self.name} {verb} ({self.way.value}: {self.why})"


@dataclass(frozen=True)
class SettingChanges:
    """All changed settings, by name."""

    changes: tuple[SettingChange, ...] = ()

    @property
    def strongest(self) -> SettingEffect | None:
        """The effect that is enough for all of them; None if nothing changes."""
        return max((each.way for each in self.changes), key=lambda way: way.rank, default=None)

    def named(self) -> tuple[str, ...]:
        """The names of the changed settings."""
        return tuple(each.name for each in self.changes)

    def by(self, way: SettingEffect) -> tuple[SettingChange, ...]:
        """Those with exactly this effect."""
        return tuple(each for each in self.changes if each.way is way)

    def shown(self) -> tuple[dict[str, str], dict[str, str]]:
        """The values before and after for diff mode, with everything hidden that may be a secret."""
        before = {each.name: shown(each.name, each.before) for each in self.changes if each.before is not None}
        after = {each.name: shown(each.name, each.after) for each in self.changes if each.after is not None}
        return before, after


def looks_secret(name: str) -> bool:
    """Whether the value of a setting of this name may be a secret. In doubt it is true."""
    return bool(_SECRET_NAME.search(name))


def shown(name: str, value: str) -> str:
    """The value as it may be shown in diff mode: hidden if its name or the value itself looks like a secret."""
    return HIDDEN if looks_secret(name) or _SECRET_VALUE.search(value) else value


def changes_between(
    current: Flat,
    wanted: Flat,
    given: Mapping[str, SettingEffect] | None = None,
    elsewhere: Mapping[str, str] | None = None,
) -> SettingChanges:
    """The changes from the current to the wanted configuration, both flat, in the order of the names.

    `given` are those of the user, as `effects_in` reads them. `elsewhere` names the settings that the pod itself
    sets outside its configuration, each with the place: what the file says of them has no effect.
    """
    names = sorted(name for name in {*current, *wanted} if current.get(name) != wanted.get(name))
    of_scheme = scheme_change(current, wanted, elsewhere or ())
    changes = []
    for name in names:
        rule, values = rule_of(name, given, elsewhere), (current.get(name), wanted.get(name))
        scheme = (True, of_scheme.to) if name in of_scheme.names else ()
        changes.append(SettingChange(name, rule.way, rule.why, rule.source, *values, *scheme))
    return SettingChanges(tuple(changes))


def rule_of(
    name: str, given: Mapping[str, SettingEffect] | None = None, elsewhere: Mapping[str, str] | None = None
) -> Rule:
    """The rule for one setting: the user's, else that of its place, else the table's, else the one for unknown ones."""
    own = tuple(Rule(pattern, way, "the user says so", GIVEN) for pattern, way in sorted((given or {}).items()))
    chosen = _best(name, own)
    if chosen is None and name in (elsewhere or {}):
        place = (elsewhere or {})[name]
        return Rule(name, SettingEffect.NEW_POD, f"{place} sets it, and wins over the file", "entry point of the image")
    return chosen or _of_table(name)


@lru_cache(maxsize=4096)
def _of_table(name: str) -> Rule:
    exact, patterns = _table()
    unknown = Rule(
        name, SettingEffect.ROLLING, "no rule knows it, and each member reads its configuration when it starts", ""
    )
    return exact.get(name) or _best(name, patterns) or unknown


@lru_cache(maxsize=1)
def _table() -> tuple[dict[str, Rule], tuple[Rule, ...]]:
    """The rules for one name each, and those for several."""
    exact = {rule.pattern: rule for rule in reversed(RULES) if "*" not in rule.pattern}
    return exact, tuple(rule for rule in RULES if "*" in rule.pattern)


def _best(name: str, rules: tuple[Rule, ...]) -> Rule | None:
    """The most exact of the rules that fit: the name itself, else the pattern with the most letters."""
    fitting = [rule for rule in rules if fits(rule.pattern, name)]
    return max(fitting, key=lambda rule: ("*" not in rule.pattern, len(rule.pattern)), default=None)


def fits(pattern: str, name: str) -> bool:
    """Whether a pattern, in which `*` stands for any text, is one for this name."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None


def effects_in(given: Mapping[str, Any]) -> dict[str, SettingEffect]:
    """The effects that a user gives, by setting or pattern.

    Raises:
        Refusal: one of them is unknown.
    """
    known = {way.value: way for way in SettingEffect}
    for pattern, way in given.items():
        if way not in known:
            raise refusal(
                "setting_way_unknown",
                f"For the setting {pattern} an effect is given that is none of {', '.join(known)}.",
                "Correct the effects that are given for settings.",
            )
    return {pattern: known[way] for pattern, way in given.items()}


@as_verdict
def judge_changes(changes: SettingChanges, addresses: GivenAddresses | None = None) -> Iterator[Reason]:
    """Refusals of changes that cannot be made, and remarks on those that no rule or a user's own rule decides.

    `addresses` are those by which the run reaches the servers before and after a change of their scheme.
    """
    for each in changes.by(SettingEffect.NEVER):
        yield refused(
            "setting_never",
            f"The setting {each.name} of a member cannot change: {each.why}.",
            "Leave it as it is; or move the data to new members that have it from the beginning.",
        )
    yield from _judge_scheme([each for each in changes.changes if each.of_scheme], addresses or GivenAddresses())
    together, replaced = changes.by(SettingEffect.COORDINATED), changes.by(SettingEffect.NEW_POD)
    if together and replaced:
        yield contradicting_effects(_names(together), replaced)
    if unknown := [each for each in changes.changes if not each.source]:
        yield remark(
            "setting_unknown",
            f"No rule knows {_names(unknown)}, so the members restart one after the other for it.",
            "Give the effect it needs if the members have to agree on it.",
        )
    for each in changes.changes:
        if each.source == GIVEN and each.way.rank < (table := rule_of(each.name)).way.rank:
            yield remark(
                "setting_way_given",
                f"The setting {each.name} changes with the effect {each.way.value}, as the user says; the table says"
                f" {table.way.value}, since {table.why}.",
            )


def _judge_scheme(changes: Sequence[SettingChange], addresses: GivenAddresses) -> Iterator[Reason]:
    """Refusals of a change between http and https for which the run lacks the addresses that it needs."""
    if not changes:
        return
    to = changes[0].scheme
    if not addresses.after:
        yield refused(
            "setting_changes_scheme",
            f"With the change of {_names(changes)} the servers answer over another scheme ({to or 'http or https'})"
            " than before, and no addresses are given for restarted members, so the run would lose sight of them.",
            "Give these addresses with opensearch.after.hosts (upgrade_opensearch_after_hosts), and the credentials and"
            " the CA for them.",
        )
    elif to and addresses.after != to:
        yield refused(
            "after_of_other_scheme",
            f"With the change of {_names(changes)} the servers answer over {to}, and the addresses for members that"
            f" have restarted ({addresses.hosts}) start with {addresses.after}://.",
            f"Start opensearch.after.hosts (upgrade_opensearch_after_hosts) with {to}://.",
        )


def details_of_scheme(changes: SettingChanges, addresses: GivenAddresses) -> list[str]:
    """The line of the plan for clients; none if the scheme stays."""
    schemes = sorted({each.scheme for each in changes.changes if each.scheme})
    return [
        f"Each member answers by {to} alone once it has restarted, and {_OTHER[to]} ends: clients lose the members one"
        f" after the other until they use {to}. Restarted members are asked at {addresses.hosts}."
        for to in schemes
    ]


def contradicting_effects(why: str, replaced: Iterable[SettingChange]) -> Reason:
    """The refusal of a change that needs all processes stopped, for `why`, and new pods for these settings."""
    return refused(
        "settings_need_two_ways",
        f"The change needs all processes stopped at once (for {why}) and new pods (for {_names(replaced)}), which no"
        " single run does.",
        "Change one of the two groups first, and the other in a run of its own.",
    )


def _names(changes: Iterable[SettingChange]) -> str:
    return enumerate_few(each.name for each in changes)
