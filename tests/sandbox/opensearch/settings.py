"""The settings of a cluster: both scopes, what the elected manager's own file says, and the defaults.

A setting that the elected manager does not know is archived with the next change, which then still goes through. As
long as it is archived, each later one is refused (server source, SettingsUpdater).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any

from tests.sandbox.opensearch.errors import ServerError, illegal
from tests.sandbox.opensearch.known import DISK, INCOMING, OUTGOING, RECOVERIES, SETTINGS, known
from tests.sandbox.opensearch.values import as_text, flat, unknown
from tests.sandbox.opensearch.versions import Version

ARCHIVED = "archived."
SCOPES = ("persistent", "transient")


class Settings:
    """Both scopes, flat."""

    def __init__(self) -> None:
        self.persistent: dict[str, Any] = {}
        self.transient: dict[str, Any] = {}

    def effective(self, name: str, file: Mapping[str, Any]) -> Any:
        """The value in force: transient hides persistent, and that the file of the elected manager."""
        for scope in (self.transient, self.persistent, file):
            if name in scope:
                return scope[name]
        if name in {INCOMING, OUTGOING}:
            return self.effective(RECOVERIES, file)
        return SETTINGS[name].default if name in SETTINGS else None

    def all(self, beginning: str, file: Mapping[str, Any]) -> dict[str, Any]:
        """The values in force of all settings whose names begin so, by what follows."""
        found = {**file, **self.persistent, **self.transient}
        return {name.removeprefix(beginning): value for name, value in found.items() if name.startswith(beginning)}

    def defaults(self, version: Version, file: Mapping[str, Any]) -> dict[str, Any]:
        """The values in force of all settings that are set in no scope."""
        found = {name: each.default for name, each in SETTINGS.items() if known(name, version)}
        own = {name: value for name, value in flat(file).items() if name in found or known(name, version)}
        recoveries = self.effective(RECOVERIES, file)
        found |= {INCOMING: recoveries, OUTGOING: recoveries, **own}
        set_ = {*self.persistent, *self.transient}
        return {name: value for name, value in found.items() if name not in set_ and value is not None}

    def change(self, body: Mapping[str, Any], version: Version) -> dict[str, dict[str, Any]]:
        """Make a change as a whole, or not at all; gives what was set by it. `version` is the elected manager's.

        Raises:
            ServerError: a setting is unknown, its value is invalid, or archived ones are in the way.
        """
        asked = {scope: flat(body.get(scope) or {}) for scope in SCOPES}
        if not any(asked.values()):
            raise ServerError(
                400, "action_request_validation_exception", "Validation Failed: 1: no settings to update;"
            )
        after, set_ = {}, {}
        # Transient settings are looked at first (server source, SettingsUpdater).
        for scope in ("transient", "persistent"):
            present: dict[str, Any] = getattr(self, scope)
            valid, rest = _parted(present, version)
            changed = _changed(scope, valid, asked[scope], version)
            _refuse_archived(changed, version)
            after[scope] = {**changed, **{_archived(name): value for name, value in rest.items()}}
            set_[scope] = {name: changed[name] for name, value in asked[scope].items() if value is not None}
        _judge_watermarks({**after["persistent"], **after["transient"]})
        self.persistent, self.transient = after["persistent"], after["transient"]
        return {scope: set_[scope] for scope in SCOPES}

    def archive(self, version: Version) -> None:
        """Archive what a manager of that version does not know, as one does that recovers the state from its disk."""
        for scope in SCOPES:
            valid, rest = _parted(getattr(self, scope), version)
            setattr(self, scope, {**valid, **{_archived(name): value for name, value in rest.items()}})


def _parted(present: Mapping[str, Any], version: Version) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings that are known or archived already, and those that are neither."""
    valid = {name: value for name, value in present.items() if name.startswith(ARCHIVED) or known(name, version)}
    return valid, {name: value for name, value in present.items() if name not in valid}


def _archived(name: str) -> str:
    return f"{ARCHIVED}{name}"


def _changed(scope: str, present: Mapping[str, Any], asked: Mapping[str, Any], version: Version) -> dict[str, Any]:
    changed = dict(present)
    for name, value in asked.items():
        if value is None and ("*" in name or name.startswith(ARCHIVED)):
            for each in fnmatch.filter(changed, name):
                del changed[each]
            continue
        found = known(name, version)
        if found is None:
            raise unknown(scope, name, version.major >= 3)
        if not found.dynamic:
            raise illegal(f"{scope} setting [{name}], not dynamically updateable")
        if value is None:
            changed.pop(name, None)
        else:
            for each in value if isinstance(value, list) else [value]:
                found.check(name, each)
            changed[name] = value
    return changed


def _refuse_archived(changed: Mapping[str, Any], version: Version) -> None:
    for name in sorted(changed):
        if name.startswith(ARCHIVED):
            type_ = "settings_exception" if version.major >= 3 else "illegal_argument_exception"
            more = "or check the breaking changes documentation for removed settings"
            said = f"unknown setting [{name}] please check that any required plugins are installed, {more}"
            raise ServerError(400, type_, said)


def _judge_watermarks(settings: Mapping[str, Any]) -> None:
    """The low watermark is the lowest, the flood stage the highest; shares only, as no one mixes them with bytes."""
    levels = {name: as_text(settings.get(f"{DISK}.watermark.{name}", SETTINGS[f"{DISK}.watermark.{name}"].default))
              for name in ("low", "high", "flood_stage")}  # fmt: skip
    if not all(text.endswith("%") for text in levels.values()):
        return
    low, high, flood = (float(levels[name][:-1]) for name in ("low", "high", "flood_stage"))
    if low > high:
        raise illegal(f"low disk watermark [{levels['low']}] more than high disk watermark [{levels['high']}]")
    if high > flood:
        raise illegal(
            f"high disk watermark [{levels['high']}] more than flood stage watermark [{levels['flood_stage']}]"
        )
