"""The plugins of members. Pure. The modules that come with every server are none (`modules` of the same answer)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...common.reading import Json, listed, named, optional_text, part, text
from .state import version_of
from .version import Version


@dataclass(frozen=True)
class Installed:
    """The installation of a member: its folder (`path.home`), the names of its plugins, and its version if known."""

    home: str
    plugins: frozenset[str]
    version: Version | None = None


def parse_installed(answer: Json) -> Mapping[str, Installed]:
    """The installation of each member by its name, from `GET _nodes/<names>/plugins,settings`.

    A member that does not report its home is left out. One without plugins has an empty list, or none if the answer was
    filtered.
    """
    found = named(answer, "nodes", lambda _identity, node: (text(node, "name"), _installed(node)), {})
    return {name: installed for name, installed in found.values() if installed.home}


def _installed(node: Json) -> Installed:
    home = optional_text(part(part(node, "settings", {}), "path", {}), "home")
    plugins = frozenset(listed(node, "plugins", lambda each: text(each, "name"), ()))
    return Installed(home or "", plugins, version_of(node, "version") if "version" in node else None)
