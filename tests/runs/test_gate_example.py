"""The example of a gate of Cluster API, asked of a cluster in memory that is whole, and of one that is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs import executor
from tests.runs.world import World, world

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "gate.yml"


@pytest.fixture
def here() -> Iterator[World]:
    with world(executor.play) as made:
        yield made


def test_a_database_that_is_not_whole_is_not_fit_and_the_reason_names_it(
    here: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "result.json"
    monkeypatch.setenv("MACHINE_TASK_RESULT", str(file))
    cluster = here.cluster("2.19.6")
    given: dict[str, Any] = {
        "gate_opensearch": {"hosts": [cluster.url]},
        "gate_members": [f"opensearch-members-{number}" for number in range(3)],
    }
    fit = here.play(str(EXAMPLE), given)
    assert fit.code == 0, fit.output
    assert not file.exists()
    cluster.ask("/orders", "PUT", {"settings": {"number_of_shards": 3, "number_of_replicas": 1}})
    cluster.until_green()
    here.sandbox.faults.crash_loop(cluster.namespace, given["gate_members"][0])
    here.sandbox.faults.kill(cluster.namespace, given["gate_members"][0])
    held = here.play(str(EXAMPLE), given)
    assert held.code != 0
    assert given["gate_members"][0] in json.loads(file.read_text(encoding="utf-8"))["reason"]
