"""Files of the collection are compiled once, as those of every other package."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import find_spec

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils import CompiledFiles

PLUGINS = "ansible_collections.stateful.upgrade.plugins"


@pytest.mark.parametrize("name", ["module_utils.common.words", "plugin_utils.run_options", "modules.upgrade_plan"])
def test_the_compiled_form_of_a_file_is_kept(name: str) -> None:
    found = find_spec(f"{PLUGINS}.{name}")
    assert found is not None
    assert isinstance(found.loader, SourceFileLoader)
    assert found.cached is not None


@pytest.mark.parametrize("name", [f"{PLUGINS}.module_utils.common", f"{PLUGINS}.lookup.order_of_run", "json"])
def test_everything_else_is_left_to_ansible(name: str) -> None:
    found = find_spec(name)
    assert found is not None
    assert CompiledFiles.find_spec(name, found.submodule_search_locations) is None
