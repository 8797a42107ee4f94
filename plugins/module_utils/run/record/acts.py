# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The changes of an upgrade and what was put back, as its record keeps them: one entry for each kind. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

CHANGED = ("set", "changed", "excluded", "removed", "patch_stateful_set", "lower_partition")
PUT_BACK = ("restored", "included")
"""The actions of modules that change something for a while or for good, and that put it back."""
LOWERED = "lower_partition"
IMAGE, STRATEGY = "image", "update strategy"
PARTS = {"image": IMAGE, "strategy": STRATEGY}
"""The parts of a pool that one request may change together, by their names in the action. The image stays."""
MOST = 100
"""Kinds of changes that a record keeps."""

Items = tuple[Mapping[str, Any], ...]


def counted(before: Items, actions: Iterable[Mapping[str, Any]]) -> Items:
    """The entries with these actions of modules counted, by target and kind, in the order of their first times."""
    known = {(each.get("target"), each.get("action")): dict(each) for each in before}
    counting = [(action, target) for action in actions for target in _targets(action)]
    for action, target in counting:
        kind, at = action.get("action"), action.get("at", "")
        if kind not in (*CHANGED, *PUT_BACK) or (len(known) >= MOST and (target, kind) not in known):
            continue
        entry = known.setdefault((target, kind), {"target": target, "action": kind, "times": 0, "first": at})
        times = entry.get("times", 0)
        entry.update(times=times + 1 if isinstance(times, int) else 1, last=at)
    return tuple(known.values())


def stays(target: str) -> bool:
    """Whether a change of this target is meant to stay."""
    return target.startswith(f"{IMAGE} of ")


def _targets(action: Mapping[str, Any]) -> Sequence[Any]:
    """The things that an action has changed. A pool is changed in parts, of which one stays and another is put back."""
    target, parts = action.get("target"), action.get("set")
    if action.get("action") == LOWERED:
        return [f"{STRATEGY} of pool {target}"]
    if not isinstance(parts, list):
        return [target]
    return [f"{PARTS[part]} of pool {target}" for part in parts if part in PARTS]
