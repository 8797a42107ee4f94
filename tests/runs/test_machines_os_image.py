"""Machines whose operating system is an image: an agent writes it, restarts the machine, and runs kubeadm."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.lab.certificates import Authority
from tests.runs.machines import CHECK, NAMESPACE, Machines, machines
from tests.runs.sampled import one_in
from tests.runs.shipped import rights_of_machines
from tests.runs.test_machines import FROM, TO, cordoned, is_upgraded, upgraded
from tests.runs.turns import Killed
from tests.runs.world import world
from tests.sandbox.kubeadm.agent import Agent
from tests.sandbox.web import Request
from tests.scenarios.playbook import Played

IMAGE = {"url": "https://images.example.com/os-1.36.1.raw", "sha256": "ab" * 32}
GIVEN: dict[str, Any] = {
    "upgrade_member_role": "stateful.upgrade.member_os_image",
    "member_os_image_command": ["osagent"],
    "member_os_image_image": IMAGE,
    "member_os_image_interval": 30,
}
PASSING = {"failureClass": "Transient", "failureReason": "Busy", "failureMessage": "the disk is busy"}


@pytest.fixture
def found() -> Iterator[Machines]:
    """A control plane of three machines and two workers, and the user with the shipped rights."""
    with world() as here, machines(here, FROM, [TO], workers=2, balanced=True) as made:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        yield made


def play(found: Machines, **more: Any) -> Played:
    """A run with consent to the present plan."""
    return upgraded(found, **GIVEN, **more)


def agent(found: Machines, name: str) -> Agent:
    """The agent of a machine."""
    return found.machines[name].agent


def began(found: Machines, name: str) -> list[str]:
    """The steps that the agent of a machine has started, in their order."""
    return [each["step"] for each in agent(found, name).documents]


def test_each_machine_gets_its_image_and_restarts_once(found: Machines) -> None:
    ended = play(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)
    for name, machine in found.machines.items():
        plane = name in found.cluster.described.control_plane
        assert began(found, name) == (["BeforeDrain", "AfterDrain"] if plane else ["AfterDrain"])
        assert (machine.agent.boots, machine.agent.image) == (2, IMAGE["sha256"])
    scripts = {name: [each["script"] for each in agent(found, name).documents] for name in ("cp-2", "cp-3", "worker-1")}
    assert scripts == {
        "cp-2": [["kubeadm upgrade apply -y v1.36.1"], ["systemctl restart kubelet"]],
        "cp-3": [["kubeadm upgrade node"], ["systemctl restart kubelet"]],
        "worker-1": [["kubeadm upgrade node", "systemctl restart kubelet"]],
    }
    assert play(found).code == 0
    assert sum(len(each.agent.documents) for each in found.machines.values()) == 8, "nothing differs: nothing starts"


def test_passing_failures_are_retried_within_their_budget(found: Machines) -> None:
    agent(found, "worker-1").fails = [PASSING, PASSING]
    agent(found, "worker-2").fails = [PASSING] * 5
    started, patience = found.here.sandbox.clock.now(), 36_000
    failed = play(found, upgrade_member_timeout=patience)
    assert failed.code != 0
    assert began(found, "worker-1") == ["AfterDrain"] * 3
    assert began(found, "worker-2") == ["AfterDrain"] * 4
    assert "has failed on worker-2: Busy: the disk is busy (after 3 retries). Correct that, remove" in failed.output
    # The cause on the host comes first, and the machine, which nothing takes to the target any more, is not waited for.
    assert failed.message.startswith("A step on machine worker-2 failed: Refuse to go on "), failed.message
    assert '"machine_step_failed"' in failed.output
    assert found.here.sandbox.clock.now() - started < patience
    # It is Ready, and nothing works on it, so it is not left cordoned.
    assert cordoned(found) == []


def test_a_failure_without_a_class_is_not_retried(found: Machines) -> None:
    agent(found, "cp-2").fails = [{"failureReason": "Signature", "failureMessage": "the image is not signed"}]
    failed = play(found)
    assert failed.code != 0
    assert "The work before the drain has failed on cp-2: Signature: the image is not signed." in failed.output
    assert began(found, "cp-2") == ["BeforeDrain"]
    again = play(found)
    assert again.code != 0, "a person has to look at it first"
    assert began(found, "cp-2") == ["BeforeDrain"]
    agent(found, "cp-2").files.clear()
    ended = play(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)


def test_work_whose_time_is_over_stays_cordoned_and_its_result_is_read_by_the_next_run(found: Machines) -> None:
    slow = agent(found, "worker-1")
    slow.hangs = True
    failed = play(found, member_os_image_timeout=600)
    assert failed.code != 0
    assert "is still at work after the time of the step" in failed.output
    assert cordoned(found) == ["worker-1"]
    assert "Machine worker-1 stays cordoned, since an operation of its agent is in progress" in failed.output
    ran = found.machines["worker-1"].commands.ran
    before = len(ran)

    def go_on(_request: Request) -> None:
        # The look and the preparation of the next run have asked, and the step after the drain asks again.
        slow.hangs = ran[before:].count("osagent status") < 3

    found.here.calling.after = go_on
    ended = play(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)
    assert began(found, "worker-1") == ["AfterDrain"]


def test_an_agent_that_forgets_its_operation_in_a_restart_gets_it_again(found: Machines) -> None:
    agent(found, "worker-1").forgets = True
    ended = play(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)
    names = [each["operation"].rpartition("-")[2] for each in agent(found, "worker-1").documents]
    assert names == ["1", "2"]


def test_an_agent_that_takes_a_configuration_later_than_it_answers_has_the_time_for_it(found: Machines) -> None:
    agent(found, "worker-1").delay = 70.0
    ended = play(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)
    assert began(found, "worker-1") == ["AfterDrain"]


def test_a_machine_that_comes_back_with_its_old_image_is_no_success(found: Machines) -> None:
    agent(found, "worker-1").lies = True
    failed = play(found)
    assert failed.code != 0
    assert "the agent says that it has succeeded, and the machine runs image unknown" in failed.output


def test_no_machine_goes_down_if_one_agent_cannot_be_used(found: Machines) -> None:
    agent(found, "worker-2").silent = True
    failed = play(found)
    assert failed.code != 0
    assert "the answer of the agent cannot be read" in failed.output
    assert not any(each.agent.documents for each in found.machines.values())
    assert cordoned(found) == []


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"member_os_image_image": {"url": "https://images.example.com/os", "sha256": "1"}}, "sha256"),
        pytest.param({"member_os_image_url": "https://agents.example.com/worker-1"}, "either", marks=pytest.mark.soak),
        pytest.param(
            {"member_os_image_command": [], "member_os_image_url": "http://agents.example.com"},
            "https://",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_wrong_variables_are_named_before_any_machine_goes_down(
    found: Machines, given: dict[str, Any], missing: str
) -> None:
    failed = upgraded(found, **{**GIVEN, **given})
    assert failed.code != 0
    assert missing in failed.output
    assert cordoned(found) == []


@pytest.mark.parametrize("number", one_in(7, range(60, 300, 16)))
def test_a_killed_run_reads_the_result_of_what_is_under_way(found: Machines, number: int) -> None:
    with found.here.killing_behind(number), pytest.raises(Killed):
        play(found)
    found.here.later(900)
    ended = play(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)
    for name in found.machines:
        names = [each["operation"] for each in agent(found, name).documents]
        assert len(names) == len({*names}), f"{name} has begun an operation twice"
        assert not [each for each in names if not each.endswith("-1")], f"{name} has repeated one"


class _AtUrl(BaseHTTPRequestHandler):
    """An agent behind HTTPS, which has done at once what it is asked for."""

    told: ClassVar[dict[str, Any]] = {}
    submitted: ClassVar[list[dict[str, Any]]] = []
    tokens: ClassVar[set[str]] = set()

    def log_message(self, *_given: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer with the status."""
        self.tokens.add(self.headers["Authorization"])
        content = json.dumps(self.told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_PUT(self) -> None:
        """Take a host configuration, and carry it out at once."""
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.submitted.append(document)
        self.told.update(operation=document["operation"], state="Succeeded", image=IMAGE["sha256"])
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()


def test_an_agent_is_asked_by_https_and_its_token_is_shown_nowhere(found: Machines, tmp_path: Path) -> None:
    authority = Authority("agents")
    identity = authority.issue("agent", ["127.0.0.1"])
    files = {"ca.pem": authority.certificate, "agent.pem": identity.certificate + identity.key}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _AtUrl)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "agent.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        own = {
            "member_os_image_url": f"https://127.0.0.1:{server.server_port}/worker-1",
            "member_os_image_token": "hush-hush",
            "member_os_image_ca": str(tmp_path / "ca.pem"),
            "member_os_image_course": "node",
        }
        include = {"name": GIVEN["upgrade_member_role"], "tasks_from": "{{ item }}"}
        tasks = [{"ansible.builtin.include_role": include, "loop": ["look", "prepare", "after_drain"]}]
        path = tmp_path / "steps.yml"
        path.write_text(json.dumps([{"hosts": "worker-1", "gather_facts": False, "tasks": tasks}]), encoding="utf-8")
        given = {**GIVEN, "member_os_image_command": [], "target_version": TO, **own}
        checked = found.here.play(str(path), given, *found.arguments, CHECK)
        asked, begun = {*_AtUrl.tokens}, [*_AtUrl.submitted]
        ended = found.here.play(str(path), given, *found.arguments)
    finally:
        server.shutdown()
        server.server_close()
    assert checked.code == 0, checked.output
    assert (asked, begun) == ({"Bearer hush-hush"}, []), "check mode asks the agent, and gives it nothing"
    assert ended.code == 0, ended.output
    (document,) = _AtUrl.submitted
    assert (document["machine"], document["activate"], document["image"]) == ("worker-1", True, IMAGE)
    assert _AtUrl.tokens == {"Bearer hush-hush"}
    assert "hush-hush" not in ended.output
