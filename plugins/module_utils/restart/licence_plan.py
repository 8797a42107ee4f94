"""The part of a licence in the plan of a restart: whether it changes, when, and which restart that needs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..common.errors import refusal
from ..common.reading import named, within
from ..common.task import Task
from ..common.verdict import Reason, Verdict, combine, refused
from ..opensearch.observe.answers import reading
from ..opensearch.observe.client import OpenSearchClient, connect
from ..opensearch.observe.look import MembersAndPods
from ..opensearch.observe.products import ELASTICSEARCH
from .act.licence import read_licence
from .judge.licences import (
    MADE_BY_SERVERS,
    SECURITY,
    TLS,
    LicenceChange,
    WantedLicence,
    judge_licence,
    judge_wanted_licence,
    licence_change,
    wanted_licence,
)
from .judge.setting_rules import SettingEffect
from .judge.settings_table import Flat, SettingChanges

_SETTINGS = "nodes.*.settings.xpack.security.enabled,nodes.*.settings.xpack.security.transport.ssl.enabled"


@dataclass(frozen=True)
class PlannedLicence:
    """The licence of a run as its plan sees it."""

    verdict: Verdict = field(default_factory=Verdict)
    everywhere: tuple[str, ...] = ()
    """Why all processes of the cluster stop at once, in words; empty if they do not."""
    details: tuple[str, ...] = ()
    """The line of the plan."""
    conditions: tuple[str, ...] = ()
    """The words for it that consent covers."""
    comes_first: bool = False
    """Whether the licence changes before the restarts."""

    def as_result(self) -> dict[str, bool]:
        """Plain data for a result. A change needs consent although no member goes: a trial cannot be taken back."""
        return {"licence_first": self.comes_first, "asks_without_batches": bool(self.details)}


def licence_of(params: Mapping[str, Any]) -> WantedLicence | None:
    """The licence in the option of a module; None if none is wanted. A text that is no type is the path of its file.

    Raises:
        Refusal: it cannot be read.
    """
    given = params["licence"]
    if given is None or given == "":
        return None
    if isinstance(given, str) and given not in {each.value for each in MADE_BY_SERVERS}:
        try:
            given = json.loads(Path(given).expanduser().read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise refusal(
                "licence_unreadable",
                "The licence cannot be read: it is neither basic nor trial nor the path of a file with JSON.",
                "Correct licence (upgrade_licence).",
            ) from None
    return wanted_licence(given)


def plan_licence(
    task: Task, seen: MembersAndPods, changes: Mapping[str, Mapping[str, SettingChanges]]
) -> PlannedLicence:
    """The change of the licence that is wanted. `changes` are those of the settings of each member, by pool.

    Raises:
        Refusal: the licence cannot be read, or the servers do not report theirs.
    """
    wanted = licence_of(task.params)
    if wanted is None:
        return PlannedLicence()
    if seen.state.product is not ELASTICSEARCH:
        return PlannedLicence(Verdict((_no_licences(seen.state.product.name),)))
    search = connect(task.params["opensearch"], task.params["kubernetes"])
    held = task.ask(lambda: read_licence(search))
    conditions = (f"licence {wanted.type.value} {wanted.uid}",)
    if wanted.is_there(held):
        return PlannedLicence(conditions=conditions)
    current = task.ask(lambda: protection_settings(search))
    major = max(member.version.own_major for member in seen.state.members.values())
    change = licence_change(held.type, wanted.type, current, _after(current, changes), major)
    return PlannedLicence(
        combine((judge_wanted_licence(wanted, held), judge_licence(change))),
        (f"the licence {wanted.type.value}",) if change.effect is SettingEffect.COORDINATED else (),
        (_sentence(change),),
        conditions,
        comes_first=not change.restarts_first,
    )


def protection_settings(search: OpenSearchClient) -> Flat:
    """The settings of security and TLS with which a member was started. All members have to agree on them."""
    answer = search.get("/_nodes/_all/settings", filter_path=_SETTINGS)
    with reading("GET /_nodes/_all/settings"):
        nodes = named(answer, "nodes", lambda _name, node: within(node, "settings.xpack.security", dict, {}), {})
        for found in nodes.values():
            tls = within(found, "transport.ssl", dict, {}).get("enabled")
            values = {SECURITY: found.get("enabled"), TLS: tls}
            return {name: str(value).lower() for name, value in values.items() if value is not None}
    return {}


def _after(current: Flat, changes: Mapping[str, Mapping[str, SettingChanges]]) -> Flat:
    """The same settings once the changes are made."""
    after = dict(current)
    for each in (one for members in changes.values() for found in members.values() for one in found.changes):
        if each.name in (SECURITY, TLS):
            after.pop(each.name, None)
            after.update({} if each.after is None else {each.name: each.after})
    return after


def _sentence(change: LicenceChange) -> str:
    when = "after the restarts" if change.restarts_first else "before the restarts"
    return f"The licence changes from {change.before.value} to {change.after.value} by the API of the servers, {when}."


def _no_licences(product: str) -> Reason:
    return refused(
        "licence_of_elasticsearch",
        f"A licence is wanted, and the servers are {product}, which has none.",
        "Leave out licence (upgrade_licence).",
    )
