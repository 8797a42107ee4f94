# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that the lookup `given` fills from variables, read from the text of a playbook or a task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

LOOKUP = r"lookup\('stateful\.upgrade\.given',\s*((?:'[\w=]+'(?:,\s*)?)+)\)"
OPTIONS = re.compile(rf"^\{{\{{\s*(?:{LOOKUP}|(\w+)(?: \| combine\({LOOKUP}\))?)\s*\}}\}}$")
"""The lookup, or a variable of the role begin with one, which it may add to."""
BEGIN = Path(__file__).resolve().parents[2] / "roles" / "begin" / "vars" / "main.yml"


def variables_of_options(value: Any) -> dict[str, str]:
    """The name of the variable by option, if this value of `module_defaults` is of lookups; empty for any other."""
    found = OPTIONS.match(value.strip()) if isinstance(value, str) else None
    if not found:
        return {}
    terms = [term.partition("=") for term in re.findall(r"'([\w=]+)'", found[1] or found[3] or "")]
    common = variables_of_options(_of_begin().get(found[2])) if found[2] else {}
    return common | {option: variable or f"upgrade_{option}" for option, _equals, variable in terms}


@cache
def _of_begin() -> Mapping[str, Any]:
    known: Mapping[str, Any] = yaml.safe_load(BEGIN.read_text(encoding="utf-8"))
    return known


def module_defaults_in(node: Any) -> Iterator[tuple[str, Any]]:
    """(group or module, its options) of plays and tasks, also inside blocks."""
    for entry in node if isinstance(node, list) else []:
        defaults: Mapping[str, Any] = entry.get("module_defaults", {})
        yield from defaults.items()
        for key in ("tasks", "block", "rescue", "always"):
            yield from module_defaults_in(entry.get(key))
