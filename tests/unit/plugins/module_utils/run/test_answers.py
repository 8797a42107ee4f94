"""The status of a request at its ConfigMap, which is written with the record of its upgrade."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record import answers
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.answers import MOST, reporting
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_files import Files
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.size import record_text
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.request import Requested
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.request_sources import STATUS

from tests.sandbox.kubernetes.in_process import InProcess

CONFIG_MAPS = "/api/v1/namespaces/search/configmaps"
AT = "2026-11-28T01:00:00Z"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> InProcess:
    found = InProcess()
    monkeypatch.setattr(answers, "connect", lambda _options: found.client())
    return found


def written(folder: Path, status: Mapping[str, Any], source: str = "configmap/next") -> list[str]:
    """The warnings with which a record of this request is written."""
    warned: list[str] = []
    record = Record("c", "2", "p", "r", "w", Phase.PENDING, "", AT, AT, system="lamps", request=Requested(source, "d"))
    params: dict[str, Any] = {"kubernetes": {}, "namespace": "search", "push_gateway": None, "metrics_path": None}
    task = Task(
        params=params,
        warn=warned.append,
        request_kinds={"upgradetask/": None},
        request_statuses={"lamps": lambda _record: status},
    )
    reporting(task, Files(folder)).write("lamps", record_text(record, 900_000), "", None)
    return warned


def test_it_is_whole_unless_it_is_too_long_for_an_annotation(api: InProcess, tmp_path: Path) -> None:
    api.client().post(CONFIG_MAPS, {"metadata": {"name": "next"}})

    def noted() -> Any:
        item = api.client().get(f"{CONFIG_MAPS}/next")
        assert item is not None
        return json.loads(item["metadata"]["annotations"][STATUS])

    few = {"phase": "Ongoing", "machines": [{"nodeName": "w"}]}
    assert (written(tmp_path / "few", few), noted()) == ([], few)
    many = {**few, "machines": [{"nodeName": "w" * MOST}]}
    assert (written(tmp_path / "many", many), noted()) == ([], {"phase": "Ongoing", "machines": []})


def test_a_request_that_is_gone_or_elsewhere_gets_none(api: InProcess, tmp_path: Path) -> None:
    assert written(tmp_path / "gone", {"phase": "Ongoing"}) == []
    assert written(tmp_path / "file", {"phase": "Ongoing"}, str(tmp_path / "task.yml")) == []
    assert api.client().list(CONFIG_MAPS) == []
    assert not (tmp_path / "task.yml").exists()
