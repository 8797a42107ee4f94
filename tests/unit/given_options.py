# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that the lookup `given` fills from variables, read from the text of a playbook or a task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

LOOKUP = re.compile(r"^\{\{\s*lookup\('stateful\.upgrade\.given',\s*((?:'[\w=]+'(?:,\s*)?)+)\)\s*\}\}$")


def variables_of_options(value: Any) -> dict[str, str]:
    """The name of the variable by option, if this value of `module_defaults` is the lookup; empty for any other."""
    found = LOOKUP.match(value.strip()) if isinstance(value, str) else None
    terms = [term.partition("=") for term in re.findall(r"'([\w=]+)'", found[1])] if found else []
    return {option: variable or f"upgrade_{option}" for option, _equals, variable in terms}


def module_defaults_in(node: Any) -> Iterator[tuple[str, Any]]:
    """(group or module, its options) of plays and tasks, also inside blocks."""
    for entry in node if isinstance(node, list) else []:
        defaults: Mapping[str, Any] = entry.get("module_defaults", {})
        yield from defaults.items()
        for key in ("tasks", "block", "rescue", "always"):
            yield from module_defaults_in(entry.get(key))
