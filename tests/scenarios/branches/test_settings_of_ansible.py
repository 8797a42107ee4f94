"""Everything that an ansible.cfg can do to a run: it goes on as without, or what is wrong is said by name.

Settings that do not touch each other share a run.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible.constants import DEFAULT_VAULT_ID_MATCH
from ansible.parsing.vault import VaultLib, VaultSecret

from tests.scenarios.interruptions import UpgradeRuns, concluded
from tests.scenarios.playbook import PLAN, play

pytestmark = pytest.mark.own_process

ALL_AT_ONCE = """
[defaults]
internal_poll_interval = 0.01
strategy = free
forks = 1
gathering = implicit
fact_caching = jsonfile
fact_caching_connection = {folder}/facts
hash_behaviour = merge
task_timeout = 1
any_errors_fatal = true
force_handlers = true
error_on_undefined_vars = true
callbacks_enabled = ansible.builtin.junit, ansible.builtin.tree
inject_facts_as_vars = false
display_skipped_hosts = false
inventory = {folder}/inventory
log_path = {folder}/log
vault_password_file = {folder}/password
[privilege_escalation]
become = true
become_method = su
become_user = nobody
"""
QUIET = """
[defaults]
strategy = host_pinned
stdout_callback = ansible.builtin.minimal
bin_ansible_callbacks = true
"""
OF_HOSTS = {"ansible_become": True, "ansible_become_method": "su", "ansible_user": "nobody"}
"""Variables of group_vars/all, which hold for the controller, too."""


def settings(folder: Path, text: str) -> str:
    (folder / "ansible.cfg").write_text(text.format(folder=folder))
    return str(folder / "ansible.cfg")


def vaulted(text: str) -> str:
    return VaultLib([(DEFAULT_VAULT_ID_MATCH, VaultSecret(b"open"))]).encrypt(text.encode()).decode()


@pytest.fixture
def folder(tmp_path: Path, upgrade_runs: UpgradeRuns) -> Path:
    """An inventory with variables of all hosts, of which one is a secret in a vault."""
    (tmp_path / "inventory" / "group_vars" / "all").mkdir(parents=True)
    (tmp_path / "inventory" / "hosts.yml").write_text("all: {hosts: {elsewhere: {}}}\n")
    (tmp_path / "inventory" / "group_vars" / "all" / "hosts.yml").write_text(yaml.safe_dump(OF_HOSTS))
    secret = vaulted(yaml.safe_dump({"upgrade_opensearch_password": "in-a-vault", "upgrade_opensearch_username": "me"}))
    (tmp_path / "inventory" / "group_vars" / "all" / "secret.yml").write_text(secret)
    (tmp_path / "password").write_text("open")
    return tmp_path


def test_a_run_with_every_setting_that_could_change_its_course(upgrade_runs: UpgradeRuns, folder: Path) -> None:
    quiet = {**upgrade_runs.environment, "ANSIBLE_CONFIG": settings(folder, QUIET)}
    planned = play(PLAN, {**upgrade_runs.variables, "upgrade_skip_checks": ["images"]}, quiet)
    assert planned.code == 0
    assert "Plan: 3 to upgrade, 0 already on 3.8.0." in planned.output
    own = {"JUNIT_OUTPUT_DIR": str(folder / "junit"), "ANSIBLE_CALLBACK_TREE_DIR": str(folder / "tree")}
    upgrade_runs.environment = {**upgrade_runs.environment, **own, "ANSIBLE_CONFIG": settings(folder, ALL_AT_ONCE)}
    played = upgrade_runs.completed()
    print(played.output)
    concluded(upgrade_runs, played)
    assert "in-a-vault" not in played.output + (folder / "log").read_text()
