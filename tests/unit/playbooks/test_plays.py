"""Each play sets its own keywords, so that no ansible.cfg and no variable of the environment says it instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.run.order import GROUP

ROOT = Path(__file__).resolve().parents[3]
IMPORT = "ansible.builtin.import_playbook"


def plays() -> Iterator[Any]:
    for path in sorted([*(ROOT / "playbooks").glob("*.yml"), *(ROOT / "playbooks" / "plays").glob("*.yml")]):
        for play in yaml.safe_load(path.read_text(encoding="utf-8")):
            if IMPORT not in play:
                yield pytest.param(play, id=f"{path.stem}-{play['name']}")


@pytest.mark.parametrize("play", list(plays()))
def test_a_play_leaves_nothing_of_its_course_to_the_settings_of_the_user(play: dict[str, Any]) -> None:
    # With the strategy free, hosts would not wait for one another, and add_host is refused.
    assert play["strategy"] == "ansible.builtin.linear"
    # The failure of one cluster of a fleet ends the others only where nothing was started.
    assert play["any_errors_fatal"] is (play["name"] == "Plan" and "fleet" in str(play))
    # A task waits for a member for as long as its options say, whatever task_timeout says of all tasks.
    assert play["timeout"] == 0
    assert play["gather_facts"] is False


@pytest.mark.parametrize("play", list(plays()))
def test_a_play_on_the_controller_becomes_nobody(play: dict[str, Any]) -> None:
    local = play.get("connection") == "local"
    named = ("upgrade_groups", "hosts_of_play")
    assert local or any(each in play["hosts"] for each in named) or play["hosts"] == GROUP
    assert play.get("become") is (False if local else None)


def test_a_playbook_of_a_system_is_the_shared_one_with_its_role() -> None:
    found: dict[str, list[Any]] = {}
    for path in sorted((ROOT / "playbooks").glob("*.yml")):
        for each in yaml.safe_load(path.read_text(encoding="utf-8")):
            if IMPORT in each and "upgrade_system" in each.get("vars", {}):
                found.setdefault(path.stem, []).append((each[IMPORT], each["vars"]))
    first = {name: found[name][:1] for name in ("longhorn", "openshift", "opensearch", "restart")}
    assert first == {name: [("upgrade.yml", {"upgrade_system": f"stateful.upgrade.{name}"})] for name in first}
    # Those of further hops run only if one is due.
    due = "'localhost' if hostvars['localhost'].begin_agreed is defined else 'localhost:!localhost'"
    further = {"upgrade_run_on": f"{{{{ {due} }}}}"}
    of_opensearch = {"upgrade_system": "stateful.upgrade.opensearch", **further}
    assert found.pop("opensearch")[1:] == [("upgrade.yml", of_opensearch)] * 2
    assert all(len(each) == 1 for each in found.values())
