# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences in the words of their reader.

A module speaks of its options, such as `wait_timeout`. A user of a playbook of this collection gave variables, such as
`upgrade_gate_timeout`, and would not find the option anywhere. So the sentences of tasks in the collection's own
playbooks and roles name variables; those of tasks in the user's own playbooks stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..module_utils.common.arguments import KUBERNETES, OPENSEARCH
from .connection_inputs import parts_of
from .variables import PREFIX

OWN = tuple(f"{Path(__file__).absolute().parents[2] / folder}/" for folder in ("playbooks", "roles"))
"""The folders of the collection's own tasks."""
PLAIN = (
    "accept_unverified",
    "add_checks",
    "allow_field_managers",
    "allow_left_behind",
    "allow_quorum_loss",
    "allow_red_indices",
    "allow_single_copy",
    "extra_replicas",
    "hand_over",
    "label_selector",
    "max_unavailable",
    "record_kept_in",
    "record_path",
    "recovery_bytes",
    "skip_checks",
    "snapshot_age",
    "take_over",
    "zone_attribute",
)
"""Options whose variable has the same name with `upgrade_` before it. Options that are ordinary words, such as pools,
are not among them: a sentence with such an option names its variable, too."""
LIMITS = {
    ("cluster_health_gate", "moment", "joined"): "upgrade_member_timeout",
    ("cluster_health_gate", "moment", "before_stop"): "upgrade_member_timeout",
    ("cluster_health_gate", "", ""): "upgrade_gate_timeout",
    ("node_engine_plan", "state", "begun"): "",
    ("node_engine_plan", "state", "ended"): "",
    ("node_engine_plan", "", ""): "upgrade_preflight_timeout",
    ("node_engine_switch", "state", "switched"): "upgrade_member_timeout",
    ("pod_ondelete_roll", "", ""): "upgrade_member_timeout",
    ("process_restart", "", ""): "upgrade_member_timeout",
    ("restart_plan", "state", "begun"): "",
    ("restart_plan", "state", "ended"): "",
    ("restart_plan", "", ""): "upgrade_preflight_timeout",
    ("shard_allocation", "state", "drained"): "upgrade_batch_timeout",
    ("upgrade_lock", "state", "stopped"): "upgrade_abort_timeout",
    ("upgrade_plan", "state", "begun"): "",
    ("upgrade_plan", "state", "ended"): "",
    ("upgrade_plan", "", ""): "upgrade_preflight_timeout",
}
"""The variable for the `wait_timeout` of a module, by an option and its value; the first that fits decides."""
UNLIMITED = (" (wait_timeout)", ", or give more time with wait_timeout,")
"""The parts of a sentence that are left out if there is no such variable."""

CONNECTIONS = {**KUBERNETES, **OPENSEARCH}
_PARTS = "|".join(
    re.escape(f"{name}.{'.'.join(part.path)}") for name in CONNECTIONS for part in parts_of(f"{PREFIX}{name}").values()
)
_OPTION = re.compile(rf"(?<![\w./:-])(?:{_PARTS}|{'|'.join(PLAIN)}|(?:gate\.)?(?:wait_timeout|wait_limit))\b")
WHOLE = "upgrade_batch_timeout or upgrade_run_timeout"
"""The variables for the `wait_limit` of a gate."""
GATE = {"gate.wait_timeout": "upgrade_gate_timeout", "gate.wait_limit": WHOLE}
"""The variables for the limits of the gate in a module that waits at one itself."""


@dataclass(frozen=True)
class Speech:
    """The words of one task."""

    own: bool
    """Whether it is a task of the collection itself."""
    limit: str
    """The variable for its `wait_timeout`; empty if there is none."""
    whole: frozenset[str] = frozenset()
    """The connections that the user has given as dictionaries. Options of any other have flat variables."""

    def text(self, text: str) -> str:
        """The text with variables in place of options."""
        if not self.own:
            return text
        for part in UNLIMITED if not self.limit else ():
            text = text.replace(part, "")
        named = {"wait_timeout": self.limit or "wait_timeout", "wait_limit": WHOLE, **GATE}
        return _OPTION.sub(lambda found: named.get(found[0]) or self._variable(found[0]), text)

    def _variable(self, option: str) -> str:
        connection, dot, part = option.partition(".")
        return (
            f"{PREFIX}{option}"
            if not dot or connection in self.whole
            else f"{PREFIX}{connection}_{part.replace('.', '_')}"
        )

    def result(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """The result with its sentences in those words: the message, and the reasons of the verdict."""
        changed = dict(result)
        if isinstance(result.get("msg"), str):
            changed["msg"] = self.text(result["msg"])
        verdict = result.get("verdict")
        if isinstance(verdict, Mapping):
            reasons = [
                {**one, **{part: self.text(one[part]) for part in ("message", "remedy")}} for one in verdict["reasons"]
            ]
            changed["verdict"] = {**verdict, "reasons": reasons}
        return changed


def speech_of(
    path: str, action: str, arguments: Mapping[str, Any], variables: Mapping[str, Any] | None = None
) -> Speech:
    """The words of a task at this path (file and line), from its module's name, its arguments and its variables."""
    module = action.rpartition(".")[2]
    limits = (
        limit
        for (name, option, value), limit in LIMITS.items()
        if name == module and (not option or arguments.get(option) == value)
    )
    whole = frozenset(name for name in CONNECTIONS if (variables or {}).get(f"{PREFIX}{name}"))
    return Speech(path.startswith(OWN), next(limits, ""), whole)
