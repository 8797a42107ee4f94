# SPDX-License-Identifier: GPL-3.0-or-later
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
            f"{UTILS}/opensearch/gates.py": "from ..kubernetes import client\nfrom ..planning.pools import Pool\n",
            f"{UTILS}/kubernetes/client.py": "import kubernetes\nfrom ..common.task import Task\n",
            f"{UTILS}/planning/pools.py": "from ..common.verdict import Verdict\n",
            f"{UTILS}/common/task.py": "import time\n",
            f"{UTILS}/common/verdict.py": "from enum import Enum\n",
        }
    )


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("common/task", "planning/pools"),
        ("planning/pools", "kubernetes/client"),
        ("record/store", "opensearch/client"),
    ],
)
@pytest.mark.parametrize("form", ["from ..{room} import {name}", "from ..{room}.{name} import thing"])
def test_the_wrong_way_up(importer: str, imported: str, form: str) -> None:
    room, name = imported.split("/")
    files = {f"{UTILS}/{importer}.py": form.format(room=room, name=name), f"{UTILS}/{imported}.py": ""}
    assert any("imports go the other way" in found for found in _breaches(files))


def test_an_absolute_import_counts_too() -> None:
    text = "from ansible_collections.stateful.upgrade.plugins.module_utils.record.store import Store\n"
    files = {f"{UTILS}/common/task.py": text, f"{UTILS}/record/store.py": ""}
    assert _breaches(files) == [f"{UTILS}/common/task.py:1: common imports record; imports go the other way"]


def test_systems_in_a_circle() -> None:
    files = {
        f"{UTILS}/opensearch/roll.py": "from ..kubernetes.pods import Pod\n",
        f"{UTILS}/kubernetes/pods.py": "",
        f"{UTILS}/kubernetes/roll.py": "from ..opensearch.roll import roll\n",
    }
    assert any("imports itself" in found for found in _breaches(files))


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
    assert _breaches({f"{UTILS}/planning/pools.py": text})
    assert _breaches({f"{UTILS}/opensearch/safety.py": f'"""Judges. Pure: no client."""\n{text}'})
    assert not _breaches({f"{UTILS}/opensearch/client.py": text})


def test_pure_files_need_pure_files() -> None:
    files = {
        f"{UTILS}/planning/pools.py": "from ..common.words import few\n",
        f"{UTILS}/common/words.py": "from . import clocks\n",
        f"{UTILS}/common/clocks.py": "import time\n",
    }
    (found,) = _breaches(files)
    assert found.startswith(f"{UTILS}/common/clocks.py:1: imports time")
    assert f"{UTILS}/planning/pools.py" in found


def test_one_place_to_sleep() -> None:
    text = "import time\n\ndef rest():\n    time.sleep(1)\n"
    assert not _breaches({f"{UTILS}/common/waiting.py": text})
    assert any("sleeps" in found for found in _breaches({f"{UTILS}/kubernetes/pods.py": text}))
    assert any("sleeps" in found for found in _breaches({f"{UTILS}/kubernetes/pods.py": "from time import sleep\n"}))
