"""The one table of variables, and the argument specifications that are made from it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils import variables
from ansible_collections.stateful.upgrade.plugins.plugin_utils.variables import (
    ANY,
    EVERY,
    FLEET,
    PLAYBOOKS,
    module_of,
    path_of_module,
    table,
)

from tests.checks.tree import ROOT
from tests.pages.specifications import SHELLS, file_of, roles, specification
from tests.pages.variables import PAGE, page


@pytest.mark.parametrize("role", roles())
def test_the_argument_specification_of_a_role_is_made_from_the_table(role: str) -> None:
    assert file_of(role).read_text(encoding="utf-8") == specification(role), "run make pages"


def test_the_page_is_made_from_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run make pages"
    given = [name for name, each in table().items() if each.playbooks]
    assert sorted(re.findall(r"^\| `(\w+)`", page(), re.M)) == sorted(set(given) - {"upgrade_system"})


def test_every_variable_is_of_a_playbook_or_of_the_run() -> None:
    known = {*PLAYBOOKS, EVERY, ANY}
    for name, each in table().items():
        assert bool(each.playbooks) + each.made + each.result + bool(each.removed) == 1, name
        assert each.playbooks <= known, name
        assert each.removed or {"description", "type"} <= each.option.keys(), name
        assert each.otherwise.keys() <= {*each.playbooks, *SHELLS}, name
        assert {each.needs, *each.goes_with} <= {"", *table()}, name
        assert not each.see or (ROOT / "docs" / each.see.partition("#")[0]).is_file(), name


@pytest.mark.parametrize("role", sorted({each.role for name, each in PLAYBOOKS.items() if name != FLEET}))
def test_every_system_has_the_module_that_its_line_names(role: str) -> None:
    module = import_module(path_of_module(module_of(f"stateful.upgrade.{role}")))
    assert {"planned", "begun", "ended"} <= {*module.CONTRACT.argument_spec["state"]["choices"]}


def test_the_module_of_a_system_of_another_collection_has_the_name_of_its_role() -> None:
    assert module_of("example.lamps.lamps") == "example.lamps.lamps"
    assert module_of("example.lamps.opensearch") == "example.lamps.opensearch"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("upgrade_tea: {sort: black}", "upgrade_tea: sort is no field."),
        ("upgrade_wait: {}", "upgrade_wait is there twice"),
    ],
)
def test_a_table_that_is_wrong_is_refused(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.yml").write_text("upgrade_wait: {type: bool}\n")
    (tmp_path / "b.yml").write_text(text)
    monkeypatch.setattr(variables, "FOLDER", tmp_path)
    table.cache_clear()
    try:
        with pytest.raises(ValueError, match=said):
            table()
    finally:
        table.cache_clear()
