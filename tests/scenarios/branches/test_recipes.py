"""The files of the page of recipes do what the page says, and print its lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab.opensearch.layouts import seven_members, three_combined
from tests.scenarios.branches.conftest import REAL
from tests.scenarios.branches.test_new_configuration import MEMBERS, RESTART, SETTING, active, contents
from tests.scenarios.cluster import RESTART_ROLE, Cluster, bound
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAYBOOK, Played, play
from tests.site.commands import DOCS, FENCE, files_in

FROM, TO = "2.19.6", "3.8.0"
PAGE = (DOCS / "recipes.md").read_text(encoding="utf-8")
FILES = dict(files_in(PAGE))
TIME = r"(?:[\d.]+ (?:h|min|s)\b ?)+"
VARIES = re.compile(rf"(?:about )?{TIME}(?:left)?|\b[a-z]*[0-9a-f]{{10,}}\b|\d{{4}}-[\dT:-]+Z|, *(?=$)| +")
"""Durations, times and names that differ from run to run."""
START = Callable[..., Cluster]


@pytest.fixture
def start(platform: Platform, request: pytest.FixtureRequest) -> Iterator[START]:
    """Starts the cluster of a recipe, with an index that has a replica."""
    started: list[Cluster] = []

    def begin(layout: Any, **options: Any) -> Cluster:
        name = re.sub(r"\W|_", "-", request.node.name.removeprefix("test_"))[:40]
        cluster = Cluster.start(platform, f"r-{name}", layout, FROM, **options)
        started.append(cluster)
        cluster.ask("/orders", "PUT", {"settings": {"number_of_shards": 3, "number_of_replicas": 1}})
        cluster.until_green()
        return cluster

    yield begin
    for each in started:
        each.remove()


def given(cluster: Cluster, name: str, **more: Any) -> dict[str, Any]:
    """The variables of a file of the page, for this cluster."""
    connections = {key: value for key, value in cluster.variables("").items() if key != "target_version"}
    return {**yaml.safe_load(FILES[name]), **connections, **more}


def shown_after(name: str) -> list[str]:
    """The lines that the page shows below a file, without what varies."""
    text = PAGE[PAGE.index(f"# {name}\n") :]
    block = next(found["body"] for found in FENCE.finditer(f"```yaml\n{text}") if found["language"] == "text")
    return [VARIES.sub("", line).strip() for line in block.splitlines()]


def prints(played: Played, name: str) -> None:
    """Fails unless the output has these lines in this order, on servers in memory."""
    print(played.output)
    if REAL:
        return  # Real servers wait for other things.
    lines = iter(VARIES.sub("", line).strip() for line in played.output.splitlines())
    for line in shown_after(name):
        assert line in lines, f"{line!r} is not printed, or not behind the line before it"


def confirmed(variables: Mapping[str, Any], environment: Mapping[str, str], playbook: str = PLAYBOOK) -> dict[str, Any]:
    """The variables with consent to the plan that they show."""
    planned = play(playbook, variables, environment, "--check")
    found = re.search(r"Plan (p\w{11})", planned.output)
    assert found, planned.output
    return {**variables, "upgrade_confirm": found[1]}


def test_one_pool(start: START, ansible_environment: Mapping[str, str]) -> None:
    cluster = start(seven_members)
    done = play(PLAYBOOK, confirmed(given(cluster, "one-pool.yml"), ansible_environment), ansible_environment)
    assert done.code == 0, done.message
    prints(done, "one-pool.yml")
    upgraded = {name for name, version in cluster.versions().items() if version == TO}
    assert upgraded == {f"opensearch-data-{ordinal}" for ordinal in range(3)}


def test_tonight(start: START, ansible_environment: Mapping[str, str]) -> None:
    cluster = start(three_combined)
    tonight = given(cluster, "tonight.yml", upgrade_at="2099-11-21T02:00:00Z")
    waits = play(PLAYBOOK, confirmed(tonight, ansible_environment), ansible_environment)
    assert waits.code == 0, waits.message
    prints(waits, "tonight.yml")
    assert {*cluster.versions().values()} == {FROM}


def test_canary(start: START, ansible_environment: Mapping[str, str]) -> None:
    cluster = start(three_combined)
    sooner = {"upgrade_soak_time": 30} if REAL else {}
    wanted = confirmed(given(cluster, "canary.yml", **sooner), ansible_environment)
    stopped = play(PLAYBOOK, wanted, ansible_environment)
    assert stopped.code == 0, stopped.message
    prints(stopped, "canary.yml")
    assert [name for name, version in cluster.versions().items() if version == TO] == ["opensearch-members-2"]

    approval = {**cluster.variables(TO), "upgrade_approval": "canary"}
    assert play("stateful.upgrade.approve", approval, ansible_environment).code == 0
    done = play(PLAYBOOK, wanted, ansible_environment)
    assert done.code == 0, done.message
    cluster.is_upgraded(TO)


def test_new_file(start: START, ansible_environment: Mapping[str, str], tmp_path: Path) -> None:
    cluster = start(three_combined, configured=True)
    cluster.platform.apply(bound(RESTART_ROLE, cluster.namespace))
    wanted = given(cluster, "new-file.yml")
    (entry,) = wanted["upgrade_configuration"]
    (content, *others) = {*contents(cluster).values()}
    assert not others
    file = tmp_path / entry["file"]
    file.write_text(f"{content}{SETTING}: 2048\n", encoding="utf-8")
    wanted["upgrade_configuration"] = [{**entry, "file": str(file)}]
    before = cluster.fingerprint().pods
    done = play(RESTART, confirmed(wanted, ansible_environment, RESTART), ansible_environment)
    assert done.code == 0, done.message
    prints(done, "new-file.yml")
    assert active(cluster) == dict.fromkeys(MEMBERS, "2048")
    assert cluster.fingerprint().pods == before
