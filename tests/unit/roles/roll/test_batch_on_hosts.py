"""A batch on plain hosts, by the role itself, on a cluster in memory behind a small HTTP server."""

from __future__ import annotations

import gzip
import json
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import identity, info
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.voters import EXCLUSIONS, Voters

OLD, NEW = "2.19.6", "3.8.0"
BATCH = "batch-01"
QUIET = {"upgrade_recoveries": 0, "upgrade_record_kept_in": "none"}
FIXED = {"cluster.routing.rebalance.enable": "none"}
"""With these nothing is set for the run, so that every change of settings is of the batch, and no record is kept."""


@contextmanager
def served(servers: Servers) -> Iterator[str]:
    """The URL at which the servers answer."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_args: object) -> None:
            pass

        def _answer(self) -> None:
            asked = urlsplit(self.path)
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Content-Encoding") == "gzip":
                sent = gzip.decompress(sent)
            if isinstance(servers, Voters):
                servers.parameters = dict(parse_qsl(asked.query))
            try:
                status, answer = 200, servers._served(self.command, asked.path, json.loads(sent) if sent else None)
            except Refusal as refusal:
                status, answer = 403, {"error": {"reason": refusal.verdict.reasons[0].message}}
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 (names that http.server asks for)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def member_role(folder: Path) -> Path:
    """A role that says which steps it takes; if it is there already, it stays as it is."""
    role = folder / "member"
    if role.exists():
        return role
    (role / "tasks").mkdir(parents=True)
    for step in ("prepare", "stop", "install", "start"):
        said = [{"name": step, "ansible.builtin.debug": {"msg": "took {{ upgrade_step }} on {{ inventory_hostname }}"}}]
        (role / "tasks" / f"{step}.yml").write_text(json.dumps(said))
    return role


def rolled(
    servers: Servers, batch: str, members: str, environment: Mapping[str, str], folder: Path, **variables: Any
) -> str:
    """The output while the role takes the batch; afterwards it shows its notes about the batch."""
    local = {"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"}
    hosts: dict[str, Any] = {f"es-{name}": {**local, "upgrade_batch_host": BATCH} for name in batch}
    places = {name: f"es-{name}" for name in batch}
    itself = {"upgrade_batch": {"name": BATCH, "members": list(batch)}, "upgrade_places": places}
    common = {
        "target_version": NEW,
        "upgrade_member_role": str(member_role(folder)),
        "begin_plan": {"members": list(members)},
        "upgrade_member_timeout": 5,
        "upgrade_system": "stateful.upgrade.opensearch",
        **QUIET,
        **variables,
    }
    (folder / "hosts.json").write_text(
        json.dumps({"all": {"hosts": {BATCH: {**local, "upgrade_batch_host": BATCH, **itself}, **hosts}}})
    )
    role = {"name": "stateful.upgrade.roll", "rolespec_validate": False}
    members = "query('stateful.upgrade.batch_of_run', 'members')"
    noted = f"[{members}, hostvars.localhost.roll_failure | default({{}})]"
    shown = {"ansible.builtin.debug": {"msg": f"{{{{ {noted} }}}}"}}
    with served(servers) as url:
        connection = {"group/stateful.upgrade.all": {"opensearch": {"hosts": [url]}}}
        plays = [
            {
                "hosts": f"{BATCH},es-*",
                "gather_facts": False,
                "module_defaults": connection,
                "tasks": [{"ansible.builtin.import_role": role}],
            },
            {"hosts": BATCH, "gather_facts": False, "tasks": [shown]},
        ]
        playbook = folder / "play.json"
        playbook.write_text(json.dumps(plays))
        (folder / "variables.json").write_text(json.dumps(common))
        command = ["ansible-playbook", "-i", str(folder / "hosts.json"), "-e", f"@{folder / 'variables.json'}"]
        run = subprocess.run(
            [*command, str(playbook)], env=dict(environment), capture_output=True, text=True, check=False, timeout=120
        )
    return run.stdout + run.stderr


@pytest.mark.parametrize("upgraded", [True, False])
def test_a_batch_that_somebody_else_has_upgraded_is_not_stopped(
    ansible_environment: Mapping[str, str], tmp_path: Path, upgraded: bool
) -> None:
    servers = Servers()
    servers.nodes = {identity(name): info(name, NEW if upgraded and name in "bc" else OLD) for name in "abc"}
    servers.settings["persistent"] |= FIXED
    before = json.dumps(servers.settings)
    said = rolled(servers, "b", "abc", ansible_environment, tmp_path)
    print(said)
    assert "took prepare on es-b" in said
    assert ("took stop on es-b" in said) is not upgraded
    assert ("Someone else has upgraded b: " in said) is upgraded
    changed = [path for method, path in servers.asked if (method, path) == ("PUT", "/_cluster/settings")]
    # The other one is restricted for, and put back by the role finish.
    assert bool(changed) is not upgraded
    assert (json.dumps(servers.settings) == before) is upgraded
    if upgraded:
        assert '"action": "kept"' in said
        assert "failed=0" in said
        assert "fatal" not in said


def test_where_nobody_takes_over_an_elected_manager_that_shares_its_batch_stays_up(
    ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    servers = Voters(managers="abc")
    servers.denied[EXCLUSIONS] = "cluster:admin/voting_config/clear_exclusions"
    servers.settings["persistent"] |= FIXED
    said = rolled(servers, "ad", "abcde", ansible_environment, tmp_path)
    print(said)
    assert "No hand-over: " in said
    assert "a is the elected manager and shares a batch with others. Run again with upgrade_hand_over=false" in said
    assert "took stop" not in said
    assert (servers.excluded, servers.settings["persistent"]) == ([], FIXED)


def test_the_message_of_a_failed_task_under_no_log_is_shown_nowhere(
    ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    """Neither in the failure of the batch, which the record keeps, nor by the output itself, where it is ours."""
    prepare = member_role(tmp_path) / "tasks/prepare.yml"
    fails = {"name": "fetch the licence", "ansible.builtin.fail": {"msg": "s3cr3t-l1cence was not taken"}}
    prepare.write_text(json.dumps([{"no_log": True, "block": [fails]}]))
    environment = {**ansible_environment, "ANSIBLE_STDOUT_CALLBACK": "stateful.upgrade.concise"}
    said = rolled(Servers(), "b", "abc", environment, tmp_path)
    print(said)
    assert "s3cr3t" not in said
    assert "fetch the licence: its result is hidden by no_log" in said
