"""A step that is not done for hours: each try of its tasks includes the next one, and Ansible holds them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.runs import executor
from tests.runs.random_runs.playing import START
from tests.runs.world import world
from tests.scenarios.playbook import PLAYBOOK

HOURS = 12
WAITS = """
- name: Ask whether the shop is closed
  ansible.builtin.set_fact:
    upgrade_step_waits: The shop is open.
"""


@pytest.mark.soak
def test_a_step_is_tried_for_half_a_day(tmp_path: Path) -> None:
    file = tmp_path / "closed.yml"
    file.write_text(WAITS)
    with world(executor.play, START) as here:
        cluster = here.cluster("2.19.6", three_combined)
        steps = [{"name": "closed", "tasks": str(file), "timeout": HOURS * 3600}]
        given = here.confirmed(cluster.variables("3.8.0", upgrade_steps=steps))
        since = here.sandbox.clock.now()
        ended = here.play(PLAYBOOK, given)
        print(ended.output[-3000:])
        assert ended.code == 2
        assert "(Take the step again): It is not done after 432" in ended.output
        assert here.sandbox.clock.now() - since >= HOURS * 3600
