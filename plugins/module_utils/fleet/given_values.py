"""The variables of a cluster as Ansible reads them from a file or an argument (`--extra-vars`). Pure.

Ansible takes each text there as a template. The templates of the inventory are filled in already, so what looks like
one now, such as a password with `{%`, is a value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..run.start.request import TEMPLATES

FILLED_IN_LATER = frozenset({"upgrade_webhook_body"})
"""Variables whose templates are filled in by the run of the cluster, which alone has what they are about."""


def given_text(variables: Mapping[str, Any]) -> str:
    """The variables as JSON, in which a text that looks like a template is marked as none."""
    return json.dumps(marked(variables), sort_keys=True)


def marked(variables: Mapping[str, Any]) -> dict[str, Any]:
    """The variables, in which each text that looks like a template is marked as none.

    The mark is that of ansible-core (2.16 `AnsibleJSONDecoder`, 2.19 `_json._profiles._legacy`).
    """
    return {name: value if name in FILLED_IN_LATER else _literal(value) for name, value in variables.items()}


def _literal(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _literal(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_literal(each) for each in value]
    looks_like_one = isinstance(value, str) and any(mark in value for mark in TEMPLATES)
    return {"__ansible_unsafe": value} if looks_like_one else value
