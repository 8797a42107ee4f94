"""Runs with bad input against a standing cluster, which must refuse with one sentence and touch nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml

from tests.lab.waiting import until
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import PLAYBOOK, Played, play
from tests.scenarios.preconditions import POOL

TO = "3.8.0"
SECRET = "Never-To-Be-Seen-4711"
LONGEST = 700
"""Characters that a person at night reads to the end."""
NARROW = {"upgrade_members": [f"{POOL}-1"]}
"""One batch is enough to see that a run in check mode goes on to its end."""

Run = Callable[..., Played]
Refuse = Callable[..., str]


@pytest.fixture
def run(standing: Cluster, ansible_environment: Mapping[str, str]) -> Run:
    """Runs the playbook against the standing cluster; no secret and no traceback may come out of it."""
    token = yaml.safe_load(standing.platform.kubeconfig("upgrader").read_text())["users"][0]["user"]["token"]

    def playing(
        target: str = TO,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        without: tuple[str, ...] = (),
        **variables: Any,
    ) -> Played:
        given = {**standing.variables(target, **variables)}
        for name in without:
            del given[name]
        played = play(PLAYBOOK, given, {**ansible_environment, **(environment or {})}, *arguments)
        print(played.output)
        assert SECRET not in played.output
        assert token not in played.output
        assert "Traceback" not in played.output
        return played

    return playing


@pytest.fixture
def refuse(standing: Cluster, run: Run) -> Refuse:
    """Runs the playbook, which must refuse with one message and leave the cluster as it was; gives the message."""

    def refusing(*arguments: Any, says: tuple[str, ...], **options: Any) -> str:
        before = standing.fingerprint()
        played = run(*arguments, **options)
        assert played.code != 0
        (said,) = messages(played)
        assert re.search(".*".join(map(re.escape, says)), said, re.DOTALL), said
        assert len(said) <= LONGEST, said
        until("the throw-away pods to be gone", lambda: len(standing.fingerprint().pods) == len(before.pods), 60)
        assert standing.fingerprint() == before
        return said

    return refusing


def messages(played: Played) -> list[str]:
    """The sentences of the tasks that failed, and of what was refused before any task."""
    failed = re.findall(r"^fatal: \[[^]]+\]: FAILED! => (\{.*\})$", played.output, re.MULTILINE)
    early = re.findall(r"^\[ERROR\]: Error processing keyword 'hosts': (.*)$", played.output, re.MULTILINE)
    return [str(json.loads(each)["msg"]) for each in failed] + early
