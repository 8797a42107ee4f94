"""Whether servers answer over http or https, as their configuration says. Pure.

HTTPS needs the setting of the security plugin or of X-Pack, and that security is on at all (source of the OpenSearch
security plugin, OpenSearchSecurityPlugin.getHttpTransports: not if it is disabled; source of Elasticsearch,
Security.getHttpTransports: not if it is not enabled). A list of addresses names one scheme, so that a run which
changes it needs the addresses after the change, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

_FAMILIES: tuple[tuple[str, str, bool], ...] = (
    ("plugins.security.ssl.http.enabled", "plugins.security.disabled", True),
    ("opendistro_security.ssl.http.enabled", "opendistro_security.disabled", True),
    ("xpack.security.http.ssl.enabled", "xpack.security.enabled", False),
)
"""The setting for HTTPS, the one for security as a whole, and the value of that one with which security is off."""
SCHEME = frozenset(name for https, security, _off in _FAMILIES for name in (https, security))
"""The settings on which the scheme depends."""

Flat = Mapping[str, str]


@dataclass(frozen=True)
class GivenAddresses:
    """The addresses by which a run reaches the servers, and their schemes."""

    before: str = ""
    """`http` or `https`."""
    after: str = ""
    """The scheme of the addresses for members that have restarted; empty if none are given."""
    hosts: str = ""
    """The addresses after the change, in words."""


@dataclass(frozen=True)
class SchemeChange:
    """The change of the scheme between two configurations."""

    names: frozenset[str] = frozenset()
    """The changed settings with which servers answer by another scheme; none if they do not."""
    to: str = ""
    """The new scheme, `http` or `https`; empty if it stays, or depends on a variable."""


def scheme_change(current: Flat, wanted: Flat, elsewhere: Collection[str] = ()) -> SchemeChange:
    """The change of the scheme by which servers answer.

    `elsewhere` are settings that the pod sets outside its configuration, where the file has no effect. A value that is
    a variable may be either one.
    """
    before, after = ({n: v for n, v in each.items() if n in SCHEME - {*elsewhere}} for each in (current, wanted))
    changed = frozenset(name for name in {*before, *after} if before.get(name) != after.get(name))
    was, becomes = _https(before), _https(after)
    if not changed or (was is not None and was == becomes):
        return SchemeChange()
    return SchemeChange(changed, {True: "https", False: "http"}.get(becomes, "") if becomes is not None else "")


def _https(settings: Flat) -> bool | None:
    """Whether servers with these settings answer by https; None if that depends on a variable."""
    found = [_of_family(settings, *family) for family in _FAMILIES]
    return True if True in found else None if None in found else False


def _of_family(settings: Flat, https: str, security: str, off: bool) -> bool | None:
    on, secured = _truth(settings.get(https, "false")), _truth(settings.get(security, str(not off).lower()))
    if on is False or secured is off:
        return False
    return None if on is None or secured is None else True


def _truth(value: str) -> bool | None:
    return {"true": True, "false": False}.get(value)
