"""Restarts of members on plain hosts by given commands, by the playbook, on a cluster in memory."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.once import REQUEST

from tests.lab.certificates import Authority
from tests.lab.waiting import moment
from tests.sandbox.listening import Listening
from tests.sandbox.opensearch.rooms import THREE, Room
from tests.sandbox.web import Answer, Request
from tests.scenarios.playbook import Played, play

pytestmark = [pytest.mark.own_process, pytest.mark.real_servers]

PLAYBOOK = "stateful.upgrade.restart_hosts"
CALL = [sys.executable, "-c", "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=60)"]
FORMER, NEW = "node.name: {{ upgrade_member }}\n", "node.name: {{ upgrade_member }}\nhttp.port: 9200\n"
"""Templates of the configuration. On a host a port needs a new process and no new pod."""
HTTP = "plugins.security.ssl.http.enabled"
SECURE = f"{FORMER}{HTTP}: true\n"
BROKEN = NEW + "broken: true\n"
"""One with which no member starts."""
IN_VAIN = {"upgrade_member_timeout": 5}
"""The variables of a run that waits for a member that cannot come back."""


@dataclass
class Hosts:
    """The cluster, its hosts, which are folders, and a server that stops and starts members."""

    room: Room
    folder: Path
    environment: Mapping[str, str]
    urls: tuple[str, str, str] = ("", "", "")
    """The addresses of the cluster, of the server that stops and starts, and of the cluster with TLS."""
    stopped: list[str] = field(default_factory=list)

    def command(self, request: Request) -> Answer:
        """Stop or start a member. Each is done already if there is nothing to do."""
        _empty, what, name = request.path.split("/")
        if what == "stop" and self.room.cluster.runs(name):
            self.stopped.append(name)
            self.room.cluster.stop(name)
        if what == "start" and not self.room.cluster.runs(name) and "broken" not in self.file(name).read_text():
            on = {HTTP: "true"} if f"{HTTP}: true" in self.file(name).read_text() else {}
            spec = self.room.spec(name)
            self.room.cluster.start(replace(spec, settings={**spec.settings, **on}))
        return Answer(200, {})

    def file(self, name: str, suffix: str = "") -> Path:
        """The configuration of a member."""
        return self.folder / f"{name}.yml{suffix}"

    @property
    def authority(self) -> Path:
        """The file with the certificate of the authority of the members."""
        return self.folder / "ca.crt"

    def configured(self) -> dict[str, bool]:
        """Whether each member has the new configuration, and is a member."""
        return {name: "http.port" in self.file(name).read_text() and self.room.cluster.ready(name) for name in THREE}

    def run(self, template: str = "", *arguments: str, **variables: Any) -> Played:
        """One run of the playbook."""
        if template:
            (self.folder / "wanted.j2").write_text(template)
            variables["member_service_template"] = str(self.folder / "wanted.j2")
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        hosts = {f"h-{name}": {"upgrade_member": name, **local, **self._of_host(name)} for name in THREE}
        inventory = self.folder / "inventory.json"
        inventory.write_text(json.dumps({"all": {"children": {"search": {"hosts": hosts}}}}))
        given = {
            "upgrade_groups": ["search"],
            "upgrade_opensearch_hosts": self.urls[0],
            "upgrade_record_path": str(self.folder / "records"),
            "upgrade_member_timeout": 60,
            "member_service_become": False,
            **variables,
        }
        played = play(PLAYBOOK, given, self.environment, "-i", str(inventory), *arguments)
        print(played.output)
        return played

    def _of_host(self, name: str) -> dict[str, Any]:
        commands = {f"member_service_{what}": [*CALL, f"{self.urls[1]}/{what}/{name}"] for what in ("stop", "start")}
        return {**commands, "member_service_path": str(self.file(name))}

    def agreed(self, template: str = "", **variables: Any) -> Played:
        """One run with consent to its plan."""
        plan = self.run(template, "--check", **variables)
        found = re.search(r"^Plan (p[0-9a-f]{11})   ", plan.output, re.MULTILINE)
        assert found is not None, plan.output
        return self.run(template, **variables, upgrade_confirm=found[1])

    def left(self) -> list[str]:
        """All that runs have left in the cluster or on the hosts, but for the note of the last request, which stays."""
        said = self.room.cluster.state.settings
        kept = [path.name for path in sorted(self.folder.glob("*.previous"))]
        names = (name for scope in (said.persistent, said.transient) for name in scope if name != REQUEST)
        return [*names, *kept]


@pytest.fixture
def hosts(tmp_path: Path, ansible_environment: Mapping[str, str]) -> Iterator[Hosts]:
    """Three members with a configuration each."""
    with _hosts(tmp_path, ansible_environment) as made:
        yield made


@contextmanager
def _hosts(folder: Path, environment: Mapping[str, str]) -> Iterator[Hosts]:
    made = Hosts(Room(), folder, environment)
    for name in THREE:
        made.file(name).write_text(FORMER.replace("{{ upgrade_member }}", name))
    authority = Authority("search authority")
    made.authority.write_bytes(authority.certificate)
    identity = authority.issue("member", ["127.0.0.1"])
    with Listening(made.room.clock, 20.0) as listening:
        cluster = made.room.cluster.handler()
        made.urls = (
            listening.serve(cluster).url,
            listening.serve(made.command).url,
            listening.serve(cluster, identity=identity).url,
        )
        yield made


def test_a_new_configuration_comes_to_each_member(hosts: Hosts) -> None:
    changed = hosts.agreed(NEW)
    assert changed.code == 0, changed.message
    assert "http.port is set for pool search (rolling: " in changed.output
    assert sorted(hosts.stopped) == sorted(THREE)
    assert hosts.configured() == dict.fromkeys(THREE, True)
    assert hosts.left() == []

    again = hosts.run(NEW)
    assert again.code == 0, again.message
    assert sorted(hosts.stopped) == sorted(THREE)


def test_a_restart_on_hosts_starts_in_its_window(hosts: Hosts) -> None:
    """A run on hosts makes no single pass, so it is refused if its start is far away."""
    early = hosts.run(upgrade_at=moment(7_260))
    assert "The restart starts at " in early.message
    assert "a run waits for its start 15 min at most" in early.message
    late = hosts.run(upgrade_at=moment(-120), upgrade_window=1)
    assert "The window for the start of the restart ended at " in late.message
    assert hosts.stopped == []
    assert hosts.agreed(upgrade_at=moment(-5)).code == 0
    assert sorted(hosts.stopped) == sorted(THREE)


def test_tls_is_switched_on_at_the_rest_port(hosts: Hosts) -> None:
    """Each member takes one scheme, over real TLS with the certificate of its authority."""
    refused = hosts.run(SECURE)
    assert "no addresses are given for restarted members" in refused.message
    after = {"upgrade_opensearch_after_hosts": hosts.urls[2]}
    untrusted = hosts.agreed(SECURE, **after, **IN_VAIN)
    assert "certificate" in untrusted.message
    (first,) = hosts.stopped
    after["upgrade_opensearch_after_ca_cert"] = str(hosts.authority)
    done = hosts.agreed(SECURE, **after)
    assert done.code == 0, done.message
    assert "Each member answers by https alone once it has restarted" in done.output
    assert "are on the hosts and were not looked into" in done.output
    assert hosts.stopped[1:] == [name for name in hosts.stopped if name != first]
    assert {name: hosts.room.cluster.members[name].secure for name in THREE} == dict.fromkeys(THREE, True)


@pytest.mark.soak
def test_one_that_does_not_start_stops_the_run_and_the_former_comes_back(hosts: Hosts) -> None:
    """The next run after a broken one puts the former content back, and restarts the others on it."""
    broken = hosts.agreed(BROKEN, **IN_VAIN)
    assert broken.code != 0
    (first,) = hosts.stopped
    assert not hosts.room.cluster.runs(first)
    assert "http.port" not in hosts.file(first, ".previous").read_text()

    back = hosts.agreed(FORMER)
    assert back.code == 0, back.message
    assert hosts.configured() == dict.fromkeys(THREE, False)
    assert all(hosts.room.cluster.ready(name) for name in THREE)
    assert hosts.left() == []
