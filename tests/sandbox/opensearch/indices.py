"""Indices: made, changed, removed, and found by their names."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from typing import Any

from tests.sandbox.opensearch.allocation import Allocation
from tests.sandbox.opensearch.errors import ServerError, blocked, illegal, no_index
from tests.sandbox.opensearch.known import DYNAMIC_OF_INDEX, FAMILIES_OF_INDEX, FIXED_OF_INDEX
from tests.sandbox.opensearch.model import Index
from tests.sandbox.opensearch.state import State
from tests.sandbox.opensearch.values import anything, flat

_NAMES = re.compile(r'[^\\/*?"<>| ,#:]+')
REPLICAS = "number_of_replicas"


class Indices:
    """All that users do to indices."""

    def __init__(self, state: State, allocation: Allocation) -> None:
        self._state = state
        self._allocation = allocation

    def find(self, names: str, *, unavailable: bool = False, hidden: bool = False) -> list[Index]:
        """The indices of a list of names and patterns.

        Raises:
            ServerError: one that is named is not there, unless such a one is ignored (`unavailable`).
        """
        found: dict[str, Index] = {}
        for name in names.split(",") if names not in {"", "_all"} else ["*"]:
            if "*" in name:
                there = fnmatch.filter(self._state.indices, name)
                shown = [each for each in there if hidden or name.startswith(".") or not self._is_hidden(each)]
                found |= {each: self._state.indices[each] for each in shown}
            elif name in self._state.indices:
                found[name] = self._state.indices[name]
            elif not unavailable:
                raise no_index(name)
        return list(found.values())

    def _is_hidden(self, name: str) -> bool:
        return self._state.indices[name].settings.get("hidden") == "true"

    def make(self, name: str, body: Mapping[str, Any]) -> Index:
        """A new index, published: see `add`."""
        index = self.add(name, body)
        self._allocation.publish()
        return index

    def add(self, name: str, body: Mapping[str, Any]) -> Index:
        """A new index whose copies have no member yet, made of its own settings over those of the templates that match.

        Raises:
            ServerError: its name or a setting is invalid, or it is there already.
        """
        judge_name(name)
        if (there := self._state.indices.get(name)) is not None:
            reason = f"index [{name}/{there.uuid}] already exists"
            kind = "resource_already_exists_exception"
            raise ServerError(400, kind, reason, index=name, index_uuid=there.uuid)
        self.judge_blocks(name, "metadata_write")
        templates = self._template(name)
        asked = {**_of_index(templates.get("settings") or {}), **_of_index(body.get("settings") or {})}
        for setting, value in asked.items():
            _check(setting, value)
        replicas = str(self._state.setting("cluster.default_number_of_replicas"))
        created = min((node.version for node in self._state.nodes.values() if _holds_down(node.spec.roles)),
                      default=self._state.managing_version)  # fmt: skip
        created = min(created, self._state.managing_version)
        settings = {"number_of_shards": "1", REPLICAS: replicas, "replication.type": "DOCUMENT", **asked}
        index = Index(name, self._state.names.make(), created, self._state.clock.now(), settings)
        index.body = {"mappings": body.get("mappings") or templates.get("mappings") or {}}
        self._allocation.make(index)
        self._state.indices[name] = index
        return index

    def _template(self, name: str) -> dict[str, Any]:
        """The template with the highest priority, with the components that it is made of."""
        matching = [
            template
            for template in self._state.index_templates.values()
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in template["index_patterns"])
        ]
        found: dict[str, Any] = max(matching, key=lambda each: int(each.get("priority", 0)), default={})
        components = [self._state.component_templates.get(each, {}) for each in found.get("composed_of", [])]
        settings: dict[str, Any] = {}
        mappings: dict[str, Any] = {}
        for part in [*components, found]:
            template = part.get("template") or {}
            settings.update(_of_index(template.get("settings") or {}))
            mappings = template.get("mappings") or mappings
        return {"settings": settings, "mappings": mappings}

    def judge_blocks(self, name: str, level: str) -> None:
        """Raises ServerError where a block of the cluster forbids something that is done to an index."""
        blocks = {number: block for number, block in self._state.blocks().items() if level in block["levels"]}
        if blocks:
            raise blocked(blocks, f"index [{name}] " if name else "")

    def change(self, names: str, body: Mapping[str, Any]) -> None:
        """Change settings of indices.

        Raises:
            ServerError: one is unknown, invalid, or fixed while the index is open.
        """
        self.judge_blocks("", "metadata_write")
        found = self.find(names)
        asked = _of_index(body.get("settings") or body)
        for setting, value in asked.items():
            _check(setting, value)
        fixed = sorted(f"index.{setting}" for setting in asked if setting in FIXED_OF_INDEX)
        opened = [f"[{index.name}/{index.uuid}]" for index in found if index.open]
        if fixed and opened:
            raise illegal(
                f"Can't update non dynamic settings [[{', '.join(fixed)}]] for open indices [{', '.join(opened)}]"
            )
        for index in found:
            for setting, value in asked.items():
                if value is None and setting != REPLICAS:
                    index.settings.pop(setting, None)
                else:
                    index.settings[setting] = "1" if value is None else value
            index.touch()
            self._allocation.recount(index)
        self._allocation.publish()

    def remove(self, names: str) -> None:
        """Remove indices; members drop their files, also those that are away, as soon as they are back.

        Raises:
            ServerError: one is not there.
        """
        found = self.find(names)
        self.judge_blocks("", "metadata_write")
        for index in found:
            del self._state.indices[index.name]
        self._allocation.publish()

    def open(self, names: str, *, wanted: bool) -> None:
        """Open or close indices."""
        for index in self.find(names):
            index.open = wanted
            index.touch()
        self._allocation.publish()

    def settings_of(self, index: Index) -> dict[str, Any]:
        """All settings of an index, flat, with `index.` before the names."""
        fixed = {
            "uuid": index.uuid,
            "provided_name": index.name,
            "creation_date": str(round(index.made_at * 1000)),
            "version.created": str(index.created.id),
        }
        return {f"index.{name}": value for name, value in {**index.settings, **fixed}.items()}


def _holds_down(roles: tuple[str, ...]) -> bool:
    """Whether a member keeps new indices at its version: not one that only serves clients."""
    return any(role in {"cluster_manager", "master", "search", "warm"} or role.startswith("data") for role in roles)


def _of_index(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an index, flat, without `index.` before the names."""
    return {name.removeprefix("index."): value for name, value in flat(settings).items()}


def _check(name: str, value: Any) -> None:
    check = DYNAMIC_OF_INDEX.get(name) or FIXED_OF_INDEX.get(name)
    check = check or (anything if name.startswith(FAMILIES_OF_INDEX) else None)
    if check is None:
        more = "please check that any required plugins are installed, or check the breaking changes documentation"
        raise illegal(f"unknown setting [index.{name}] {more} for removed settings")
    if isinstance(value, str):
        check(f"index.{name}", value)


def judge_name(name: str) -> None:
    said = ""
    if name.startswith(("_", "-", "+")):
        said = "must not start with '_'." if name[0] == "_" else f"must not start with '{name[0]}'"
    elif name != name.lower():
        said = "must be lowercase"
    elif not _NAMES.fullmatch(name):
        said = 'must not contain the following characters [ , ", *, \\, <, |, ,, >, /, ?]'
    if said:
        kind = "invalid_index_name_exception"
        raise ServerError(400, kind, f"Invalid index name [{name}], {said}", index=name, index_uuid="_na_")
