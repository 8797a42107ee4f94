"""The process that an image starts: its ports, its end, and the sentences with which it does not start."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from extensions.cluster_api.cluster_api_extension.policy import policy_of
from extensions.cluster_api.cluster_api_extension.service import HookService
from extensions.cluster_api.cluster_api_extension.store import Store
from tests.lab.addresses import ClaimedPort
from tests.lab.certificates import Authority
from tests.sandbox.listening import Listening
from tests.unit.cluster_api.management import RUNS, SERVICE, DirectApi, Management
from tests.unit.cluster_api.manifests import EXTENSION, NAMESPACE, POLICY_FILE
from tests.unit.cluster_api.requests import path_of, recorded
from tests.unit.cluster_api.test_external import request

AUTHORITY = Authority("authority")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, addresses in (("server", ["127.0.0.1"]), ("client", ["127.0.0.1"])):
        identity = AUTHORITY.issue(name, addresses)
        (tmp_path / f"{name}.crt").write_bytes(identity.certificate)
        (tmp_path / f"{name}.key").write_bytes(identity.key)
    (tmp_path / "ca.crt").write_bytes(AUTHORITY.certificate)
    (tmp_path / "policy.yaml").write_text(POLICY_FILE)
    return tmp_path


def serving(folder: Path) -> list[str]:
    files = ["--policy", f"{folder}/policy.yaml", "--certificate", f"{folder}/server.crt", "--key"]
    return ["serve", *files, f"{folder}/server.key", "--client-ca", f"{folder}/ca.crt", "--host", "127.0.0.1"]


def started(arguments: list[str]) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KUBERNETES_", "POD_"))}
    command = [sys.executable, "-m", "cluster_api_extension", *arguments]
    return subprocess.Popen(command, cwd=EXTENSION, env=kept, text=True, stderr=subprocess.PIPE)


@pytest.fixture
def reached(folder: Path) -> Iterator[tuple[Management, list[str]]]:
    """A management cluster, and the arguments with which a process reaches it."""
    management = Management()
    with Listening(management.clock) as listening:
        url = listening.serve(management.server, identity=AUTHORITY.issue("api", ["127.0.0.1"])).url
        yield (
            management,
            ["--namespace", NAMESPACE, "--api-server", url, "--ca-file", f"{folder}/ca.crt", "--token-file"],
        )


def test_the_process_serves_until_it_is_asked_to_end(folder: Path, reached: tuple[Management, list[str]]) -> None:
    management, access = reached
    (folder / "token").write_text(management.token(SERVICE))
    port, health = ClaimedPort.claim(), ClaimedPort.claim()
    ports = ["--port", str(port.number), "--health-port", str(health.number)]
    process = started([*serving(folder), *access, f"{folder}/token", *ports])
    assert process.stderr is not None
    assert "serving hooks on port" in process.stderr.readline()
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    context.load_cert_chain(folder / "client.crt", folder / "client.key")
    hooks = http.client.HTTPSConnection("127.0.0.1", port.number, context=context)
    hooks.request("POST", path_of("canupdatemachine"), json.dumps(recorded("canupdatemachine")))
    assert b'"machinePatch"' in hooks.getresponse().read()
    hooks.close()
    kubelet = http.client.HTTPConnection("127.0.0.1", health.number)
    kubelet.request("GET", "/readyz")
    assert kubelet.getresponse().read() == b"ok"
    kubelet.close()
    process.terminate()
    _out, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    port.release()
    health.release()


def test_a_worker_without_a_task_ends(folder: Path, reached: tuple[Management, list[str]]) -> None:
    management, access = reached
    (folder / "token").write_text(management.token(RUNS))
    process = started(["work", "--once", *access, f"{folder}/token", "--", "false"])
    _out, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "")


def test_a_worker_of_upgrade_tasks_carries_one_out(folder: Path, reached: tuple[Management, list[str]]) -> None:
    management, access = reached
    (folder / "token").write_text(management.token(RUNS))
    management.define_upgrade_tasks()
    management.owned("one", "md-0")
    policy, store = policy_of({"external": {"upgrade_task": True}}), Store(DirectApi(management, SERVICE), NAMESPACE)
    asyncio.run(HookService(policy, store).external_upgrade(request(names=("one",))))
    ((name, task),) = management.tasks().items()
    assert task["state"] == "waiting"
    command = [sys.executable, "-c", f"import sys; sys.exit(sys.argv[1] != {name!r})", "{upgrade_task}"]
    process = started(["work", "--once", "--upgrade-tasks", *access, f"{folder}/token", "--", *command])
    _out, said = process.communicate(timeout=60)
    assert (process.returncode, management.tasks()[name]["state"]) == (0, "done"), said


UPGRADER = {"kind": "Upgrader", "name": "metal"}


@pytest.mark.parametrize(
    ("clusters", "sentence"),
    [
        ("default/*", ""),
        (
            "default/o*",
            "default/by-hand is left: it is for Cluster default/mem, and this worker has those of default/o*",
        ),
    ],
)
def test_a_worker_carries_out_one_of_a_person_for_its_clusters_and_the_upgrader_of_its_policy(
    clusters: str, sentence: str, folder: Path, reached: tuple[Management, list[str]]
) -> None:
    management, access = reached
    (folder / "token").write_text(management.token(RUNS))
    (folder / "policy.yaml").write_text(json.dumps({"external": {"upgrade_task": True, "upgrader": UPGRADER}}))
    management.define_upgrade_tasks()
    management.owned("one", "md-0")
    management.make_upgrade_task("by-hand", "md-0", "one", template={"upgraderRef": UPGRADER})
    own = ["--upgrade-tasks", "--cluster", clusters, "--policy", f"{folder}/policy.yaml"]
    command = [sys.executable, "-c", "import sys; sys.exit(sys.argv[1] != 'by-hand')", "{upgrade_task}"]
    process = started(["work", "--once", *own, *access, f"{folder}/token", "--", *command])
    _out, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert {name: each["state"] for name, each in management.tasks().items()} == (
        {} if sentence else {"by-hand": "done"}
    )
    assert sentence in said


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"policy.yaml": "uncovered: recreate\n"}, "uncovered is 'recreate': write replace or hold"),
        ({"policy.yaml": "{"}, "cannot be read (ParserError)."),
        ({"server.key": "no key"}, "server.key are no certificate with its key, in PEM."),
    ],
)
def test_a_fault_in_a_file_is_one_sentence(
    change: dict[str, str], sentence: str, folder: Path, reached: tuple[Management, list[str]]
) -> None:
    management, access = reached
    (folder / "token").write_text(management.token(SERVICE))
    for name, text in change.items():
        (folder / name).write_text(text)
    process = started([*serving(folder), *access, f"{folder}/token"])
    _out, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert sentence in said
    assert said.count("\n") == 1


def test_outside_a_pod_the_api_server_has_to_be_named(folder: Path) -> None:
    process = started([*serving(folder), "--namespace", NAMESPACE])
    _out, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "This is no pod: name the API server with --api-server" in said
