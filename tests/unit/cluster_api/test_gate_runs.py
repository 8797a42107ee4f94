"""A command that looks at a database writes the gate of its Cluster, which holds upgrades until it says yes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import pytest

from extensions.cluster_api.cluster_api_extension.__main__ import arguments
from extensions.cluster_api.cluster_api_extension.gate_runs import GateRuns
from extensions.cluster_api.cluster_api_extension.gates import GateAnswer, gated
from extensions.cluster_api.cluster_api_extension.kubernetes_api import Unanswered
from extensions.cluster_api.cluster_api_extension.policy import GateRule
from extensions.cluster_api.cluster_api_extension.store import Store
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.unit.cluster_api.management import RUNS, SERVICE, DirectApi, Management
from tests.unit.cluster_api.manifests import NAMESPACE

HOOK = "BeforeWorkersUpgrade"
PYTHON = [sys.executable, "-c"]
RULE = GateRule((HOOK,), max_age=600, poll=30)
WRITE = "import os, pathlib; pathlib.Path(os.environ['MACHINE_TASK_RESULT']).write_text({!r}); raise SystemExit(2)"
NO = WRITE.format('{"reason": "orders is yellow."}')


def looked(management: Management, code: str, limit: float = 60, command: Sequence[str] = PYTHON) -> GateAnswer:
    """The answer of one look with this code for the command, by the account of the runs."""
    store = Store(DirectApi(management, RUNS), NAMESPACE)
    return asyncio.run(GateRuns(store, ("default", "mem"), [*command, code], limit, management.now).look_once())


def held(management: Management) -> str:
    """The message with which the service holds the upgrade of that Cluster; empty if it does not."""
    found = asyncio.run(Store(DirectApi(management, SERVICE), NAMESPACE).gate("default", "mem"))
    return str(gated(HOOK, "default/mem", RULE, found, management.now(), "of the test")["message"])


def test_an_upgrade_is_held_until_the_command_says_that_the_cluster_is_fit() -> None:
    management = Management()
    assert "It has not answered yet." in held(management)
    assert looked(management, NO).reason == "orders is yellow."
    assert "orders is yellow." in held(management)
    assert looked(management, "").fit
    assert held(management) == ""
    management.clock.advance(601)
    assert "Its answer is older than 600 s." in held(management), "nothing has looked since"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise SystemExit(3)", "the command ended with code 3"),
        (WRITE.format("no JSON"), "the command ended with code 2"),
        ("import time; time.sleep(60)", "has not ended within 0.5 s"),
    ],
)
def test_a_command_that_fails_or_hangs_is_no_pass(code: str, said: str) -> None:
    management = Management()
    answer = looked(management, code, limit=0.5 if "sleep" in code else 60)
    assert not answer.fit
    assert said in answer.reason
    assert said in held(management)


def test_a_command_that_does_not_exist_is_no_pass() -> None:
    answer = looked(Management(), "", command=["/nowhere/command"])
    assert answer.reason == "The command of the gate cannot be started (FileNotFoundError)."


def test_an_answer_that_cannot_be_written_leaves_the_one_before_until_it_is_too_old() -> None:
    management = Management()
    assert looked(management, "").fit
    found = management.resources.get(CONFIG_MAPS, NAMESPACE, "gate-default.mem")
    management.clock.advance(300)
    management.server.faults.answer(500, "PUT", "/configmaps/gate-", times=1)
    with pytest.raises(Unanswered, match="500"):
        looked(management, NO)
    assert management.resources.get(CONFIG_MAPS, NAMESPACE, "gate-default.mem") == found
    management.clock.advance(301)
    assert "older than 600 s" in held(management)


def test_the_cluster_is_given_by_namespace_and_name(capsys: pytest.CaptureFixture[str]) -> None:
    found = arguments(["gate", "--namespace", NAMESPACE, "--cluster", "shop/main", "--", "true"])
    assert (found.cluster, found.run, found.look_seconds, found.limit) == (("shop", "main"), ["true"], 60, 300)
    for wrong in ("main", "shop/", "/main", "a/b/c"):
        with pytest.raises(SystemExit):
            arguments(["gate", "--namespace", NAMESPACE, "--cluster", wrong, "--", "true"])
    assert "invalid named_cluster value" in capsys.readouterr().err
