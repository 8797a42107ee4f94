"""The order of the rooms, shown plugins that break it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.checks.rooms import room_breaches

UTILS = "plugins/module_utils"


def _breaches(files: dict[str, str]) -> list[str]:
    return list(room_breaches({Path(path): ast.parse(text) for path, text in files.items()}))


def test_the_right_way_down() -> None:
    assert not _breaches(
        {
            "plugins/action/act.py": "from ..plugin_utils.base import Base\n",
            "plugins/plugin_utils/base.py": "from ..module_utils.common.task import Task\n",
            "plugins/modules/act.py": "from ..module_utils.opensearch.gates import gate\n",
            f"{UTILS}/opensearch/gates.py": "from ..kubernetes import client\nfrom .judge.pools import Pool\n",
            f"{UTILS}/kubernetes/client.py": "import kubernetes\nfrom ..common.task import Task\n",
            f"{UTILS}/opensearch/judge/pools.py": "from ...common.words import few\nfrom ..observe import state\n",
            f"{UTILS}/opensearch/observe/state.py": "from ...run.colouring import Placement\n",
            f"{UTILS}/run/colouring.py": "",
            f"{UTILS}/common/words.py": "",
            f"{UTILS}/common/task.py": "import time\n",
            f"{UTILS}/common/verdict.py": "from enum import Enum\n",
        }
    )


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("common/task", "run/plan"),
        ("kubernetes/client", "run/plan"),
        ("monitoring/alerts", "run/plan"),
        ("run/plan", "pools/pod_roll"),
        ("run/plan", "opensearch/gates"),
        ("run/plan", "entry/guard"),
        ("pools/pod_roll", "opensearch/gates"),
        ("opensearch/gates", "entry/guard"),
    ],
)
@pytest.mark.parametrize("form", ["from ..{room} import {name}", "from ..{room}.{name} import thing"])
def test_the_wrong_way_up(importer: str, imported: str, form: str) -> None:
    room, name = imported.split("/")
    files = {f"{UTILS}/{importer}.py": form.format(room=room, name=name), f"{UTILS}/{imported}.py": ""}
    assert any("imports go the other way" in found for found in _breaches(files))


def test_an_absolute_import_counts_too() -> None:
    text = "from ansible_collections.stateful.upgrade.plugins.module_utils.run.store import Store\n"
    files = {f"{UTILS}/common/task.py": text, f"{UTILS}/run/store.py": ""}
    assert _breaches(files) == [f"{UTILS}/common/task.py:1: common imports run; imports go the other way"]


def test_systems_in_a_circle() -> None:
    files = {
        f"{UTILS}/opensearch/roll.py": "from ..longhorn.volumes import Volume\n",
        f"{UTILS}/longhorn/volumes.py": "",
        f"{UTILS}/longhorn/roll.py": "from ..opensearch.roll import roll\n",
    }
    assert any("imports itself" in found for found in _breaches(files))


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("observe/cluster", "judge/gates"),
        ("observe/cluster", "act/flush"),
        ("judge/gates", "act/flush"),
        ("act/flush", "health_gate"),
    ],
)
def test_a_system_imports_along_its_flow(importer: str, imported: str) -> None:
    system = f"{UTILS}/opensearch"
    name = imported.replace("/", ".")
    up = {f"{system}/{importer}.py": f"from ..{name} import thing\n", f"{system}/{imported}.py": ""}
    assert any("imports go the other way" in found for found in _breaches(up))
    dots = "..." if "/" in imported else "."
    down = {f"{system}/{imported}.py": f"from {dots[1:] or '.'}{importer.replace('/', '.')} import thing\n"}
    assert not _breaches({**down, f"{system}/{importer}.py": ""})


def test_a_system_has_no_other_folders() -> None:
    assert any("and no parsing" in found for found in _breaches({f"{UTILS}/opensearch/parsing/state.py": ""}))


@pytest.mark.parametrize(
    "text", ["SHARDS = 3\n", '"""Moves the elected manager."""\n', "def ask_opensearch() -> None: ...\n"]
)
def test_the_run_knows_no_system(text: str) -> None:
    assert any("the run knows no system" in found for found in _breaches({f"{UTILS}/run/plan.py": text}))
    assert not _breaches({f"{UTILS}/opensearch/observe/plan.py": text})


def test_a_room_without_a_floor() -> None:
    assert any("room attic is unknown" in found for found in _breaches({f"{UTILS}/attic/box.py": ""}))


@pytest.mark.parametrize(
    "text",
    [
        "import time\n",
        "import urllib.request\n",
        "from urllib import request\n",
        "from ansible.module_utils.basic import AnsibleModule\n",
        "from datetime import datetime\nMADE = datetime.now()\n",
        "import kubernetes\n",
    ],
)
def test_what_is_not_pure(text: str) -> None:
    assert _breaches({f"{UTILS}/opensearch/judge/pools.py": text})
    assert _breaches({f"{UTILS}/opensearch/safety.py": f'"""Judges. Pure: no client."""\n{text}'})
    assert not _breaches({f"{UTILS}/opensearch/client.py": text})


def test_pure_files_need_pure_files() -> None:
    files = {
        f"{UTILS}/opensearch/judge/pools.py": "from ...common.words import few\n",
        f"{UTILS}/common/words.py": "from . import clocks\n",
        f"{UTILS}/common/clocks.py": "import time\n",
    }
    (found,) = _breaches(files)
    assert found.startswith(f"{UTILS}/common/clocks.py:1: imports time")
    assert f"{UTILS}/opensearch/judge/pools.py" in found


def test_one_place_to_sleep() -> None:
    text = "import time\n\ndef rest():\n    time.sleep(1)\n"
    assert not _breaches({f"{UTILS}/common/waiting.py": text})
    assert any("sleeps" in found for found in _breaches({f"{UTILS}/kubernetes/pods.py": text}))
    assert any("sleeps" in found for found in _breaches({f"{UTILS}/kubernetes/pods.py": "from time import sleep\n"}))
