# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of real servers: put back by hand as docs/running.md says, and one that the new version does not know."""

from __future__ import annotations

import json
import re
import shlex
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import upgrade
from tests.scenarios.tasks import Tasks, step

FROM, TO = "2.19.6", "3.8.0"
PAGE = Path(__file__).parents[2] / "docs" / "running.md"
UNDO = "cluster.metadata.stateful_upgrade.undo"
FORGOTTEN = "compatibility.override_main_response_version"
"""A setting of 2.19 that 3.0 has taken away."""
ANSWER = re.compile(r'\.(?P<scope>\w+)\["(?P<name>[^"]+)"\]')
"""The one kind of jq filter that the page has."""


def curl_lines() -> list[str]:
    """The curl commands of the page in their order, each in one line, with what follows its pipe."""
    text = PAGE.read_text(encoding="utf-8").replace("\\\n", " ")
    return re.findall(r"(?:^\$ |`)(curl [^\n`]+)", text, re.M)


def sample_of(command: str) -> Any:
    """The answer to a command as the page shows it."""
    after = PAGE.read_text(encoding="utf-8").partition(f"{command}\n")[2]
    return json.loads(after.partition("\n```")[0])


def send(cluster: Cluster, command: str) -> Any:
    """Send what curl would send, and filter the answer as jq would: neither program needs to be installed."""
    words = iter(shlex.split(command.replace("$URL", cluster.url)))
    method, url, body, headers = "GET", "", None, {}
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-d":
            body = next(words).encode()
        elif word == "-H":
            name, _colon, headers[name] = next(words).partition(": ")
        elif word == "|":
            break
        elif word.startswith("http"):
            url = word
        else:
            assert word in {"curl", "-s"}, word
    with cluster.open(urllib.request.Request(url, body, headers, method=method)) as answer:  # noqa: S310 - the lab's own
        text = answer.read().decode()
    filtered = list(words)
    if not filtered:
        return text
    assert filtered[:2] == ["jq", "-r"]
    found = ANSWER.fullmatch(filtered[2])
    assert found is not None, filtered
    return json.loads(text)[found["scope"]][found["name"]]


@pytest.fixture
def tasks(standing: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]) -> Iterator[Tasks]:
    tasks = Tasks(standing, tmp_path, ansible_environment)
    yield tasks
    standing.ask("/_cluster/voting_config_exclusions?wait_for_removal=false", "DELETE")
    tasks.one("shard_allocation", state="restored")


def test_the_commands_of_the_documentation_put_everything_back(standing: Cluster, tasks: Tasks) -> None:
    before = standing.fingerprint()
    look, write, vote = curl_lines()
    tasks.play(
        step("shard_allocation", state="prepared", rebalance="none"), step("shard_allocation", state="restricted")
    )
    other = next(name for name in sorted(standing.versions()) if name != standing.elected())
    standing.ask(f"/_cluster/voting_config_exclusions?node_names={other}", "POST")
    assert standing.excluded() == [other]

    undo, shown = json.loads(send(standing, look)), sample_of(look)
    assert undo["changes"] == shown["changes"]
    assert shown.keys() <= undo.keys()
    send(standing, vote)
    send(standing, write)

    assert standing.excluded() == []
    assert standing.fingerprint() == before


def test_a_setting_that_the_new_version_does_not_know_keeps_nothing_from_being_put_back(
    standing: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    """The last test of the module, for the cluster stays upgraded."""
    before = standing.fingerprint()
    standing.ask("/_cluster/settings", "PUT", {"persistent": {FORGOTTEN: "false"}})
    stopped = upgrade(standing.variables(TO, upgrade_archived="refuse"), ansible_environment)
    print(stopped.output)
    assert stopped.code != 0
    assert f"archived.{FORGOTTEN} (persistent)" in stopped.output

    with pytest.raises(urllib.error.HTTPError) as refused:
        standing.ask("/_cluster/settings", "PUT", {"persistent": {"cluster.metadata.owner": "team search"}})
    assert FORGOTTEN in refused.value.read().decode(), "a server that takes changes needs nothing of this"

    finished = upgrade(standing.variables(TO), ansible_environment)
    print(finished.output)
    assert finished.code == 0, finished.message
    assert f"{FORGOTTEN} = 'false' is unknown to the version that runs" in finished.output
    assert set(standing.versions().values()) == {TO}
    assert json.loads(standing.ask("/_cluster/settings")) == json.loads(before.settings)
