"""A fleet whose cluster is upgraded by a job of AWX: killed, and run again.

AWX is a stand-in of its documented API. Its job is the real playbook, with the variables that the launch gave.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.awx.server import TOKEN, Awx, Job, Template
from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import until
from tests.sandbox.clock import Clock
from tests.sandbox.listening import Listening
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PATIENCE, PLAYBOOK, Playing, play

FLEET = "stateful.upgrade.fleet"
FROM, TO = "2.19.6", "3.8.0"


@pytest.mark.own_process
def test_a_job_of_awx_outlives_the_run_of_the_fleet_and_is_found_again(
    platform: Platform, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    cluster = Cluster.start(platform, "fleet-awx", three_combined, FROM)
    awx, let_it_end, ended = Awx([Template(7, "north upgrade", prompts=True)]), threading.Event(), threading.Event()

    def work(job: Job) -> None:
        # The kill comes while the job runs, however fast that is.
        assert let_it_end.wait(PATIENCE)
        played = play(PLAYBOOK, job.extra_vars, environment)
        job.end("failed" if played.code else "successful", played.output, **statistics(played))
        ended.set()

    awx.launched = lambda job: threading.Thread(target=work, args=(job,), daemon=True).start()
    folder, inventory = tmp_path / "fleet", tmp_path / "clusters.yml"
    with Listening(Clock()) as listening:
        launcher = {
            "upgrade_fleet_launcher": "awx",
            "upgrade_fleet_template": "{{ inventory_hostname }} upgrade",
            "upgrade_fleet_awx": {"url": listening.serve(awx).url},
        }
        hosts = {"north": {**cluster.variables(TO), **launcher}}
        inventory.write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
        given: dict[str, Any] = {"upgrade_fleet_path": str(folder)}
        with_token = {**environment, "CONTROLLER_OAUTH_TOKEN": TOKEN}
        words = ("--inventory", str(inventory))
        planned = play(FLEET, given, with_token, *words, "--check")
        assert planned.code == 0, planned.output
        assert awx.jobs == [], "check mode launches nothing"
        given["upgrade_fleet_confirm"] = statistics(planned)["upgrade_fleet_confirm"]
        killed = Playing(FLEET, given, with_token, *words)
        until("The launch", lambda: awx.jobs, PATIENCE)
        killed.signal(signal.SIGKILL, group=True)
        killed.abandon()
        let_it_end.set()
        assert ended.wait(PATIENCE)
        done = play(FLEET, given, with_token, *words)
    assert done.code == 0, done.output
    (job,) = awx.jobs
    assert TOKEN not in json.dumps(job.extra_vars) + done.output
    entry = json.loads((folder / "clusters" / "north.json").read_text())
    assert (entry["state"], entry["launch"]["job"]) == ("done", str(job.id))
    assert "3 upgraded to 3.8.0" in (folder / "clusters" / "north.log").read_text()
    assert {*cluster.versions().values()} == {TO}
    cluster.remove()
