"""Many clusters are upgraded wave by wave, each by a process of its own."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import until
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PATIENCE, Played, Playing, play

FLEET = "stateful.upgrade.fleet"
FROM, TO = "2.19.6", "3.8.0"
NOBODY = "tcp://127.0.0.1:9"
NAMES = ("staging", "north", "south")
LAUNCH = """
- ansible.builtin.command:
    argv: [ansible-playbook, -i, "localhost,", "{{ fleet_playbook }}", -e, "{{ fleet_extra_vars | to_json }}"]
"""


class Clusters:
    """Three clusters with an inventory of which each is a host."""

    def __init__(self, platform: Platform, environment: Mapping[str, str], folder: Path) -> None:
        # The namespaces of the test before may still be terminating.
        mark = secrets.token_hex(2)
        self.of = {name: Cluster.start(platform, f"fleet-{mark}-{name}", three_combined, FROM) for name in NAMES}
        self.folder = folder / "fleet"
        self._environment = {**environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
        self._inventory = folder / "clusters.yml"
        self.list({})

    def list(self, own: Mapping[str, Mapping[str, Any]]) -> None:
        """Write the inventory; `own` are further variables of a cluster."""
        hosts = {name: {**cluster.variables(TO), **own.get(name, {})} for name, cluster in self.of.items()}
        self._inventory.write_text(yaml.safe_dump({"production": {"hosts": hosts}}))

    def begin(self, variables: Mapping[str, Any], *arguments: str) -> Playing:
        """Start a run of the fleet."""
        given = {"upgrade_fleet_path": str(self.folder), **variables}
        return Playing(FLEET, given, self._environment, "--inventory", str(self._inventory), *arguments)

    def play(self, variables: Mapping[str, Any], *arguments: str) -> Played:
        """Run the fleet to its end."""
        played = self.begin(variables, *arguments).wait()
        print(played.output)
        return played

    def record(self, name: str) -> dict[str, Any]:
        """The entry of a cluster in the record of the fleet."""
        found: dict[str, Any] = json.loads((self.folder / "clusters" / f"{name}.json").read_text())
        return found

    def states(self) -> dict[str, str]:
        """The state of each cluster in the record of the fleet."""
        return {name: self.record(name)["state"] for name in NAMES}

    def on(self, version: str) -> Sequence[str]:
        """The clusters whose members all run this version."""
        return [name for name, cluster in self.of.items() if {*cluster.versions().values()} == {version}]


@pytest.fixture
def clusters(platform: Platform, ansible_environment: Mapping[str, str], tmp_path: Path) -> Iterator[Clusters]:
    made = Clusters(platform, ansible_environment, tmp_path)
    yield made
    for cluster in made.of.values():
        cluster.remove()


WAVES: Mapping[str, Any] = {
    "upgrade_fleet_playbook": "opensearch",
    "upgrade_fleet_canary": "staging",
    "upgrade_fleet_waves": [1, "100%"],
    "upgrade_fleet_soak_time": 1,
}


def digest(clusters: Clusters) -> str:
    """The name of the plan, from a run that was not confirmed and did nothing."""
    refused = clusters.play(WAVES)
    assert refused.code != 0
    assert "was not confirmed" in refused.message
    assert clusters.on(FROM) == [*NAMES]
    assert not (clusters.folder / "fleet.json").exists(), "nobody has agreed"
    found: str = re.findall(r"^Plan (f[0-9a-f]{11}) ", refused.output, re.MULTILINE)[0]
    return found


@pytest.mark.own_process
def test_a_fleet_goes_no_further_than_a_canary_that_does_not_prove_itself(clusters: Clusters) -> None:
    clusters.list({"staging": {"upgrade_soak_probes": [NOBODY]}})
    stopped = clusters.play({**WAVES, "upgrade_fleet_confirm": digest(clusters)})
    assert stopped.code != 0
    assert clusters.states() == {"staging": "failed", "north": "not begun", "south": "not begun"}
    assert clusters.on(TO) == ["staging"]
    assert "staging went first, and has not proven itself" in clusters.record("staging")["cause"]
    assert clusters.record("staging")["codes"] == statistics(stopped)["upgrade_reasons"] == ["soak_failed"]


@pytest.mark.own_process
@pytest.mark.soak
def test_a_fleet_goes_wave_by_wave_and_stops_at_a_failure(clusters: Clusters) -> None:
    confirm = {**WAVES, "upgrade_fleet_confirm": digest(clusters)}
    frozen = {"upgrade_steps": [{"name": "frozen", "tasks": str(_failing(clusters.folder.parent))}]}
    clusters.list({"staging": {"upgrade_soak_probes": [NOBODY]}, "north": frozen})
    stopped = clusters.play({**confirm, "upgrade_fleet_failures": 2})
    assert stopped.code != 0
    assert clusters.states() == {"staging": "failed", "north": "failed", "south": "not begun"}
    assert clusters.on(TO) == ["staging"]
    assert statistics(stopped)["upgrade_state"] == "refused"
    assert "staging went first, and has not proven itself" in clusters.record("staging")["cause"]
    assert "The shop is open." in clusters.record("north")["cause"]
    clusters.list({"south": {"upgrade_fleet_launcher": str(_launcher(clusters.folder.parent))}})
    killed = clusters.begin(confirm)
    until("north is under way", lambda: clusters.states()["north"] == "upgrading", PATIENCE)
    killed.signal(signal.SIGKILL)
    print(killed.abandon().output)
    until("its process has ended", lambda: not _processes(), PATIENCE)
    done = clusters.play(confirm)
    assert done.code == 0, done.message
    assert clusters.on(TO) == [*NAMES]
    assert {*clusters.states().values()} == {"done"}
    assert done.changed["staging"] == 0, "it was done before"
    clusters.list({"north": {"upgrade_soak_tim": 3}})
    wrong = clusters.play(WAVES, "--check", "--limit", "staging,north")
    assert wrong.code != 0
    assert "on 2 clusters in 2 waves" in wrong.output
    assert "Nothing to do: every member runs 3.8.0." in wrong.output
    assert {*clusters.states().values()} == {"done"}, "a look at plans changes no record"
    assert "Cluster north has no plan: upgrade_soak_tim is not a variable of the playbook plan" in wrong.message


def _failing(folder: Path) -> Path:
    path = folder / "frozen.yml"
    path.write_text("- ansible.builtin.fail: {msg: The shop is open.}\n")
    return path


def _launcher(folder: Path) -> Path:
    """Tasks that start the playbook of a cluster, as a job elsewhere would."""
    path = folder / "launch.yml"
    path.write_text(LAUNCH)
    return path


def _processes() -> list[str]:
    """The command lines of the processes and forks that upgrade a cluster of a fleet. No other test starts any."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes().decode(errors="replace"))
    return [
        each
        for each in found
        if "fleet/prepared.py" in each or ("stateful-upgrade-" in each and "variables.json" in each)
    ]


@pytest.mark.usefixtures("platform")
@pytest.mark.parametrize("variable", ["upgrade_fleet_clusters", "upgrade_fleet_clsters"])
def test_a_fleet_without_a_cluster_is_refused(
    variable: str, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    played = play(FLEET, {variable: "production", "upgrade_fleet_path": str(tmp_path)}, ansible_environment)
    assert played.code != 0
    assert "The fleet has no cluster:" in played.output


@pytest.mark.usefixtures("platform")
@pytest.mark.parametrize("check", [False, True])
def test_a_cancellation_says_what_follows_and_a_check_cancels_nothing(
    check: bool, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    inventory = tmp_path / "clusters.yml"
    inventory.write_text(yaml.safe_dump({"all": {"hosts": {"north": {}, "south": {}}}}))
    given = {"target_version": TO, "upgrade_namespace": "search", "upgrade_fleet_path": str(tmp_path / "fleet")}
    more = ["--inventory", str(inventory), *(["--check"] if check else [])]
    played = play("stateful.upgrade.fleet_cancel", given, ansible_environment, *more)
    assert played.code == 0, played.output
    assert played.output.count("The fleet is cancelled: no further cluster starts") == (0 if check else 1)
    assert (tmp_path / "fleet" / "cancelled.json").exists() is not check


@pytest.mark.usefixtures("platform")
def test_a_cancellation_names_the_clusters_that_it_could_not_end(
    tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    inventory = tmp_path / "clusters.yml"
    without_template = {"upgrade_fleet_launcher": "awx"}
    inventory.write_text(yaml.safe_dump({"all": {"hosts": {"north": {}, "south": without_template}}}))
    given = {"target_version": TO, "upgrade_namespace": "search", "upgrade_fleet_path": str(tmp_path / "fleet")}
    played = play("stateful.upgrade.fleet_cancel", given, ansible_environment, "--inventory", str(inventory))
    assert played.code != 0
    assert "What runs for south may not have ended" in played.output
    assert "what runs for a cluster ends" not in played.output
