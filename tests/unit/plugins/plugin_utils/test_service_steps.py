"""The steps of the role member_service on a host whose files are here."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.on_machine import TaskMachine
from ansible_collections.stateful.upgrade.plugins.plugin_utils.service_steps import Service, carried_out

PATH, FORMER, WANTED = "/etc/opensearch/opensearch.yml", "node.name: a\n", "node.name: a\nhttp.port: 9200\n"
PREVIOUS = f"{PATH}.previous"
Result = dict[str, Any]


@pytest.fixture(autouse=True)
def with_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller of the test is there."""
    monkeypatch.setattr("ansible_collections.stateful.upgrade.plugins.plugin_utils.on_machine._go_on", lambda: None)


@dataclass
class Host:
    """A host with files, and a service that does what it is asked for."""

    files: dict[str, str] = field(default_factory=lambda: {PATH: FORMER})
    given: Result = field(default_factory=lambda: {"member_service_content": WANTED})
    overwrites: bool = False
    """Whether something else writes the configuration again."""
    fails: str = ""
    """The module that fails."""
    called: list[tuple[str, Result]] = field(default_factory=list)
    checks: bool = False

    def carried_out(self, state: str) -> Result:
        """A step."""
        given = {"member_service_path": PATH, "member_service_mode": "0660", "member_service_name": "search"}
        machine = TaskMachine(self._execute, self._call, lambda _line: None, checks=self.checks)
        return carried_out(machine, Service({**given, **self.given}.get), state)

    def _execute(self, name: str, options: Result, _checks: bool) -> Result:
        if name == self.fails:
            return {"failed": True, "msg": f"{name} did not work."}
        if name == "stat":
            text = self.files.get(options["path"])
            known = {"checksum": hashlib.sha256((text or "").encode()).hexdigest(), "mode": "0640", "pw_name": "search"}
            return {"stat": {"exists": False} if text is None else {"exists": True, **known}}
        if name == "slurp":
            return {"content": base64.b64encode(self.files[options["src"]].encode()).decode()}
        if name == "file":
            return {"changed": self.files.pop(options["path"], None) is not None}
        self.called.append((name, options))
        return {"changed": name == "systemd"}

    def _call(self, name: str, options: Result, on_controller: bool) -> Result:
        assert (name, on_controller) == ("ansible.builtin.copy", False)
        if options.get("remote_src"):
            there = options["dest"] in self.files
            self.files.setdefault(options["dest"], self.files[options["src"]])
            return {"changed": not there}
        self.called.append(("copy", options))
        self.files[options["dest"]] = FORMER if self.overwrites else options["content"]
        return {"changed": True, "diff": [{"after": options["content"]}]}


def test_a_configuration_is_placed_with_the_mode_and_owner_of_the_former_which_is_kept() -> None:
    host = Host()
    done = host.carried_out("installed")
    assert host.files == {PATH: WANTED, PREVIOUS: FORMER}
    ((_name, options),) = host.called
    assert {name: options.get(name) for name in ("mode", "owner", "group")} == {
        "mode": "0640",
        "owner": "search",
        "group": None,
    }
    assert [each["action"] for each in done["actions"]] == [
        "Keep the previous configuration",
        "Place the wanted configuration",
    ]
    assert done["changed"]
    assert WANTED not in str(done)
    assert host.carried_out("installed")["changed"] is False


def test_the_first_configuration_that_was_replaced_stays_until_it_is_forgotten() -> None:
    host = Host({PATH: "node.name: b\n", PREVIOUS: FORMER})
    host.carried_out("installed")
    assert host.files == {PATH: WANTED, PREVIOUS: FORMER}
    assert host.carried_out("forgotten")["changed"]
    assert host.files == {PATH: WANTED}


def test_a_host_without_a_configuration_gets_one() -> None:
    host = Host(files={})
    assert host.carried_out("seen")["configuration"] == {"present": "", "wanted": WANTED}
    host.carried_out("installed")
    assert host.files == {PATH: WANTED}
    assert host.called[0][1]["mode"] == "0660"


def test_a_member_is_not_started_on_a_file_that_something_else_writes() -> None:
    done = Host(overwrites=True).carried_out("installed")
    assert done["failed"]
    assert done["failed_step"] == "Refuse to start the member on another configuration"
    assert "something else writes this file. End that, and run again. The member is stopped." in done["msg"]


def test_the_content_of_the_plan_counts() -> None:
    host = Host(given={"member_service_template": "wanted.j2", "member_service_rendered": "edited"})
    host.given["member_configuration"] = {"present": FORMER, "wanted": WANTED}
    host.carried_out("installed")
    assert host.files[PATH] == WANTED


def test_nothing_is_done_where_no_configuration_is_wanted() -> None:
    host = Host({PATH: FORMER, PREVIOUS: FORMER}, given={})
    assert "configuration" not in host.carried_out("seen")
    assert [host.carried_out(state)["changed"] for state in ("installed", "forgotten")] == [False, False]
    assert host.files == {PATH: FORMER, PREVIOUS: FORMER}


def test_nothing_is_changed_in_check_mode() -> None:
    host = Host(checks=True)
    assert host.carried_out("installed")["changed"]
    assert host.files == {PATH: FORMER}


def test_a_configuration_that_cannot_be_read_is_no_missing_one() -> None:
    done = Host(fails="slurp").carried_out("seen")
    assert (done["failed"], done["msg"]) == (True, "slurp did not work.")
    assert done["failed_step"] == "See the configuration that is there"


@pytest.mark.parametrize(("state", "step"), [("stopped", "stop"), ("started", "start")])
def test_a_member_is_a_service_or_has_commands(state: str, step: str) -> None:
    host = Host()
    assert host.carried_out(state)["changed"]
    assert host.called == [("systemd", {"name": "search", "state": state})]
    host = Host(given={f"member_service_{step}": ["ctl", step]})
    assert host.carried_out(state)["changed"]
    assert host.called == [("command", {"argv": ["ctl", step]})]


def test_a_content_that_ansible_has_read_as_json_stays_one() -> None:
    host = Host(given={"member_service_content": {"node.name": "a"}})
    host.carried_out("installed")
    assert host.files[PATH] == '{"node.name": "a"}'
