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
from .run_options import limit_of
from .variables import PREFIX, table

OWN = tuple(f"{Path(__file__).absolute().parents[2] / folder}/" for folder in ("playbooks", "roles"))
"""The folders of the collection's own tasks."""
PLAIN = tuple(
    option
    for name, each in table().items()
    if "_" in (option := name.removeprefix(PREFIX)) and each.playbooks and option != name
)
"""Options whose variable has the same name with `upgrade_` before it. Options that are ordinary words, such as pools,
are not among them: a sentence with such an option names its variable, too."""
OF_ENDS = ("begun", "ended")
"""The states of the module of a system whose time limit no variable changes."""
UNLIMITED = (" (wait_timeout)", ", or give more time with wait_timeout,")
"""The parts of a sentence that are left out if there is no such variable."""

CONNECTIONS = {**KUBERNETES, **OPENSEARCH}
_PARTS = "|".join(
    re.escape(f"{name}.{'.'.join(part.path)}") for name in CONNECTIONS for part in parts_of(f"{PREFIX}{name}").values()
)
LISTED = "workloads"
"""The list whose elements have options of their own."""
_OPTION = re.compile(
    rf"(?<![\w./:-])(?:{_PARTS}|{LISTED}\.[a-z_]+|{'|'.join(PLAIN)}|(?:gate\.)?(?:wait_timeout|wait_limit))\b"
)
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
    """The connections that the user has given as dictionaries. For all others, sentences name the flat variables."""

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
            if not dot or connection == LISTED or connection in self.whole
            else f"{PREFIX}{connection}_{part.replace('.', '_')}"
        )

    def result(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """The result with its sentences in these words: the message, the lines that were shown, and the reasons."""
        changed = dict(result)
        if isinstance(result.get("msg"), str):
            changed["msg"] = self.text(result["msg"])
        if isinstance(result.get("lines"), list):
            changed["lines"] = [self.text(line) for line in result["lines"]]
        verdict = result.get("verdict")
        if isinstance(verdict, Mapping):
            reasons = [
                {**one, **{part: self.text(one[part]) for part in ("message", "remedy")}} for one in verdict["reasons"]
            ]
            changed["verdict"] = {**verdict, "reasons": reasons}
        return changed


def speech_of(
    path: str, module: str, arguments: Mapping[str, Any], variables: Mapping[str, Any] | None = None
) -> Speech:
    """The words of a task at this path (file and line), from its module's name, its arguments and its variables."""
    limit = "" if arguments.get("state") in OF_ENDS else limit_of(module, arguments)
    whole = frozenset(name for name in CONNECTIONS if (variables or {}).get(f"{PREFIX}{name}"))
    return Speech(path.startswith(OWN), limit, whole)
