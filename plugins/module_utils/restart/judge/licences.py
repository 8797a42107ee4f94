"""A change of the licence of Elasticsearch, and the restart that it needs. Pure.

A licence itself is changed by the API while the members run. All of them have to stop at once where it turns security,
or TLS between the members, on or off: members with and without it cannot talk to each other.

- Before 8.0 security that is not configured is off with a basic or trial licence, and on with the others (source of
  7.17, XPackLicenseState.isSecurityEnabled). From 8.0 on it is on unless it is turned off.
- TLS between members is off unless it is turned on (XPackSettings), and with security turned off there is none.
- A licence for production cannot be installed while security is on without TLS; a trial one can (LicenseService).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ...common.errors import Refusal, refusal
from ...common.verdict import Reason, as_verdict, refused, remark
from .setting_rules import SettingEffect
from .settings_table import Flat

SECURITY = "xpack.security.enabled"
TLS = "xpack.security.transport.ssl.enabled"


class Licence(str, Enum):
    """The types of licences, as `GET _license` calls them."""

    BASIC = "basic"
    STANDARD = "standard"
    GOLD = "gold"
    PLATINUM = "platinum"
    ENTERPRISE = "enterprise"
    TRIAL = "trial"


WITHOUT_TLS = frozenset({Licence.BASIC, Licence.TRIAL})
"""Licences that can be installed while security is on without TLS between the members."""


@dataclass(frozen=True)
class Protection:
    """The protection of a cluster, which all its members have to agree on."""

    security: bool
    tls: bool


@dataclass(frozen=True)
class LicenceChange:
    """The change of a licence together with a configuration."""

    before: Licence
    after: Licence
    was: Protection
    becomes: Protection

    @property
    def effect(self) -> SettingEffect:
        """`dynamic` if the API alone is enough."""
        return SettingEffect.DYNAMIC if self.was == self.becomes else SettingEffect.COORDINATED

    @property
    def restarts_first(self) -> bool:
        """Whether the members restart before the licence changes: the new one may need TLS, which is on by then."""
        return self.effect is SettingEffect.COORDINATED and self.becomes.tls

    def switches(self) -> str:
        """The protection that is turned on or off, in words; empty if none is."""
        parts = (
            ("security", self.was.security, self.becomes.security),
            ("TLS between members", self.was.tls, self.becomes.tls),
        )
        return " and ".join(f"{name} {'on' if after else 'off'}" for name, before, after in parts if before != after)


def licence_change(before: Licence, after: Licence, current: Flat, wanted: Flat, major: int) -> LicenceChange:
    """The change of a licence, with the flat configurations before and after it and the major version."""
    return LicenceChange(before, after, protection(current, before, major), protection(wanted, after, major))


def protection(settings: Flat, licence: Licence, major: int) -> Protection:
    """The protection that a configuration gives with a licence."""
    by_default = major >= 8 or licence not in WITHOUT_TLS
    security = settings[SECURITY] == "true" if SECURITY in settings else by_default
    return Protection(security, settings.get(TLS) == "true" and settings.get(SECURITY) != "false")


@as_verdict
def judge_licence(change: LicenceChange) -> Iterator[Reason]:
    """A refusal if the new licence cannot be installed, else a remark that says which restart the change needs."""
    if change.becomes.security and not change.becomes.tls and change.after not in WITHOUT_TLS:
        yield refused(
            "licence_needs_tls",
            f"The licence {change.after.value} cannot be installed while security is on without TLS between members.",
            f"Set {TLS} in the wanted configuration, or turn security off.",
        )
        return
    if change.effect is SettingEffect.COORDINATED:
        order = "before" if change.restarts_first else "after"
        yield remark(
            "licence_switches_security",
            f"The change from licence {change.before.value} to {change.after.value} turns {change.switches()}, so all"
            f" members stop before the first one starts, {order} the licence is changed.",
            "Agree to the restart of the whole cluster.",
        )


@dataclass(frozen=True)
class WantedLicence:
    """The licence that a user wants."""

    type: Licence
    uid: str = ""
    """The identity of an issued licence; empty for one that the servers make themselves."""
    content: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """An issued licence as it was sent to the user; empty for one that the servers make themselves."""

    def is_there(self, held: HeldLicence) -> bool:
        """Whether the cluster has this very licence."""
        return held.type is self.type and (not self.uid or held.uid == self.uid)


@dataclass(frozen=True)
class HeldLicence:
    """The licence that a cluster has."""

    type: Licence
    uid: str = ""
    trial_is_left: bool = True
    """Whether a trial licence can still be started; a cluster may do so once for each major version."""


MADE_BY_SERVERS = frozenset({Licence.BASIC, Licence.TRIAL})
"""Licences that the servers make themselves when they are asked to."""


def wanted_licence(given: Any) -> WantedLicence:
    """The licence in the option of a module: `basic`, `trial`, or an issued licence as Elastic sends it.

    Raises:
        Refusal: it is none of these. No part of it is quoted but its type.
    """
    if given in [each.value for each in MADE_BY_SERVERS]:
        return WantedLicence(Licence(given))
    found = given
    if isinstance(found, Mapping):
        several = found.get("licenses")
        found = found.get("license") or (several[0] if isinstance(several, list) and several else found)
    if not isinstance(found, Mapping) or not isinstance(found.get("uid"), str) or not found.get("signature"):
        raise _no_licence("it is neither basic nor trial nor an issued licence, which has a uid and a signature")
    if found.get("type") not in [each.value for each in Licence]:
        raise _no_licence(f"its type is none of {', '.join(each.value for each in Licence)}")
    return WantedLicence(Licence(found["type"]), found["uid"], found)


def _no_licence(why: str) -> Refusal:
    return refusal("licence_unreadable", f"The licence cannot be read: {why}.", "Correct licence (upgrade_licence).")


@as_verdict
def judge_wanted_licence(wanted: WantedLicence, held: HeldLicence) -> Iterator[Reason]:
    """Whether the cluster can get this licence."""
    if wanted.type is Licence.TRIAL and not wanted.content and not held.trial_is_left and not wanted.is_there(held):
        yield refused(
            "licence_trial_over",
            "The trial licence cannot be started: this cluster has had one already.",
            "Install an issued licence, or ask Elastic to extend the trial one.",
        )
