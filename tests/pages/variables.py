"""The page `docs/reference/variables.md`: every variable that a user gives, from the one table."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

import yaml
from ansible_collections.stateful.upgrade.plugins.plugin_utils.variables import (
    ANY,
    EVERY,
    FOLDER,
    PLAYBOOKS,
    Variable,
    table,
)

from tests.checks.tree import ROOT

PAGE = ROOT / "docs" / "reference" / "variables.md"
FOLDER_OF_PAGE = "reference"
"""Its folder below docs, from which it leads to the other pages."""
_HEAD = """# Variables

Each playbook takes the variables that name it, or `every`; `opensearch[_hosts]` stands for `opensearch` and
`opensearch_hosts`. The other playbooks (`plan`, `status`, `abort` and so on) take those of the system whose role is
given with `-e upgrade_system=…` (default `stateful.upgrade.opensearch`). Each option of a connection has a variable of
its own, such as `upgrade_opensearch_hosts` ([connections.md](../connections.md)).
`ansible-doc -t role stateful.upgrade.opensearch` describes them in full, as for the roles `restart`, `restart_hosts`,
`longhorn` and `fleet`. Unknown variables that begin with `upgrade_`, and values that no run can use, are refused all at
once, before anything is asked of a server.

Give them in a file (`-e @upgrade.yml`), one by one (`-e upgrade_members=search-0,search-1`), or in a survey of AWX. A
list may be a text with commas; a number, or a yes or no, may be text. An empty text counts as not given, except for
yes and no, for the numbers that may be 0, and for `upgrade_groups`. [examples/upgrade.yml](../examples/upgrade.yml) is
such a file. This page is made by code (`make pages`).
"""
_EXPERT = """
## Expert

The defaults are right for most clusters. The plan names a consent (`upgrade_allow_…`) if it needs one.
"""
_END = """
## Options of ansible-playbook

`--check` and `--diff` work. `--limit`, `--tags`, `--skip-tags`, `--start-at-task` and `--step` would silently skip
parts of an upgrade and are refused; narrow a run with `upgrade_members`. A [fleet](../fleet.md) takes `--limit`.
"""
HOSTS = "_hosts"
_COLUMNS = "\n| Variable | Default | Playbooks | Meaning |\n|---|---|---|---|\n"
_MARKUP = re.compile(r"[OCVM]\((?:stateful\.upgrade\.)?(?:[\w.]+#module:)?((?:[^()]|\([^()]*\))*)\)")
_SENTENCE = re.compile(r"(?<=[.)])\s+(?=[A-Z])")


def page() -> str:
    """The whole page: the everyday variables first, then the others by the file of the table that they are in."""
    given = [each for each in table().values() if each.playbooks]
    everyday = sorted((each for each in given if each.everyday), key=lambda each: not each.option.get("required"))
    parts = [_HEAD, "\n## Everyday\n", _COLUMNS, *_rows(everyday), _EXPERT]
    for path in sorted(FOLDER.glob("*.yml")):
        text = path.read_text(encoding="utf-8")
        names = yaml.safe_load(text).keys()
        rows = _rows(each for each in given if each.name in names and not each.everyday)
        if rows:
            parts += [f"\n### {path.stem.capitalize()}\n\n{text.splitlines()[1].removeprefix('# ')}\n", _COLUMNS, *rows]
    return "".join([*parts, _END])


def _rows(variables: Iterable[Variable]) -> list[str]:
    return [f"| `{each.name}` | {_default(each)} | {_playbooks(each)} | {_meaning(each)} |\n" for each in variables]


def _default(variable: Variable) -> str:
    option = variable.option
    if option.get("required"):
        return "required"
    default = option.get("default")
    if default in (None, "", [], {}):
        return ""
    shown = ", ".join(map(str, default)) if isinstance(default, list) else str(default)
    return f"`{shown.lower() if isinstance(default, bool) else shown}`"


def _playbooks(variable: Variable) -> str:
    if variable.playbooks == {ANY}:
        return ""
    names = [each for each in PLAYBOOKS if each in variable.playbooks]
    if EVERY in variable.playbooks or len(names) == len(PLAYBOOKS) - 1:
        return EVERY
    both = [each for each in names if f"{each}{HOSTS}" in names]
    rest = [each for each in names if each not in both and each.removesuffix(HOSTS) not in both]
    return ", ".join([*(f"{each}[{HOSTS}]" for each in both), *rest])


def _meaning(variable: Variable) -> str:
    """The first sentence of the description, the values to choose from, and the page that has more about it.

    A description that explains its values is there as a whole.
    """
    described, choices = variable.option["description"], variable.option.get("choices", [])
    text = described if isinstance(described, str) else described[0]
    if not choices or not all(f"V({each})" in text for each in choices):
        text = _SENTENCE.split(text)[0]
        several = variable.option["type"] == "list"
        text += f" {'Any' if several else 'One'} of {', '.join(f'V({each})' for each in choices)}." if choices else ""
    text = _MARKUP.sub(r"`\1`", text).replace("|", "\\|")
    return f"{text} [More]({posixpath.relpath(variable.see, FOLDER_OF_PAGE)})" if variable.see else text
