"""Links of the reference to the documentation of ansible-core, which the site does not ask while it is built."""

from __future__ import annotations

from typing import Any

from docutils import nodes

ANSIBLE = "https://docs.ansible.com/ansible/latest/"
BUILTIN = "ansible_collections.ansible.builtin."
LABELS = {
    "action_plugins": "plugins/action.html",
    "ansible_configuration_settings": "reference_appendices/config.html",
    "callback_plugins": "plugins/callback.html",
    "common_return_values": "reference_appendices/common_return_values.html",
}
"""Label of ansible-core's documentation → its place there."""


def address(kind: str, target: str) -> str | None:
    """The address of a label or a variable of the environment, if the documentation of ansible-core has it."""
    if kind == "envvar" and target.startswith("ANSIBLE_"):
        return f"{ANSIBLE}reference_appendices/config.html#envvar-{target}"
    if kind == "ref" and target.startswith(BUILTIN):
        return f"{ANSIBLE}collections/ansible/builtin/{target.removeprefix(BUILTIN)}.html"
    return ANSIBLE + LABELS[target] if kind == "ref" and target in LABELS else None


def linked(_app: Any, _env: Any, node: Any, text: Any) -> nodes.reference | None:
    """The link in the place of a reference that the site itself cannot resolve; nothing if it is unknown."""
    found = address(node.get("reftype", ""), node.get("reftarget", ""))
    return nodes.reference("", "", text, internal=False, refuri=found) if found else None
