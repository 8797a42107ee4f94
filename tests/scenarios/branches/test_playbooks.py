"""Each playbook about an upgrade once with the real ansible-playbook; their branches have tests of their own."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import moment
from tests.scenarios.cluster import RESTART_ROLE, Cluster, bound
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAN, PLAYBOOK, STATUS, play

pytestmark = pytest.mark.own_process

APPROVE = "stateful.upgrade.approve"
FROM, TO = "2.19.6", "3.8.0"
OF_UPGRADE: tuple[tuple[str, Mapping[str, str], str], ...] = (
    ("pause", {"upgrade_pause_reason": "A disk is replaced."}, ": A disk is replaced."),
    ("abort", {}, f"Aborted, to {TO}"),
    ("resume", {}, f"Paused, to {TO}"),
    ("settle", {}, f"Paused, to {TO}"),
)
"""Playbooks, and the words of the status of an upgrade that is pending, once each has run."""


def test_each_playbook_about_an_upgrade(platform: Platform, ansible_environment: Mapping[str, str]) -> None:
    cluster = Cluster.start(platform, "playbooks", three_combined, FROM)
    try:
        before, given = cluster.fingerprint(), cluster.variables(TO)
        later = {
            "upgrade_at": moment(7_260),
            "upgrade_wait": False,
            "upgrade_approvals": [{"name": "canary", "after": 1}],
        }
        pending = play(PLAYBOOK, {**given, **later}, ansible_environment)
        assert pending.code == 0, pending.message
        early = play(APPROVE, {**given, "upgrade_approval": "canary"}, ansible_environment)
        assert "does not wait for the approval canary (after 1 batch) yet" in early.message, early.output
        for name, own, said in OF_UPGRADE:
            done = play(f"stateful.upgrade.{name}", {**given, **own}, ansible_environment)
            print(done.output)
            assert done.code == 0, done.message
            shown = play(STATUS, given, ansible_environment)
            assert said in shown.output, shown.output
        cluster.platform.apply(bound(RESTART_ROLE, cluster.namespace))
        restarts = {**cluster.variables(""), "upgrade_system": "stateful.upgrade.restart"}
        planned = play(PLAN, restarts, ansible_environment)
        assert planned.code == 0, planned.message
        assert cluster.fingerprint() == before
    finally:
        cluster.remove()
