"""Each state of an upgrade reaches the webhook once, over all its passes and runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import moment
from tests.sandbox.webhook import webhook
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAYBOOK, confirmed, play, upgrade

FROM, TO = "2.19.6", "3.8.0"
BODY = {name: f"{{{{ upgrade_notice.{name} }}}}" for name in ("state", "codes")}


def test_each_state_is_told_once(platform: Platform, ansible_environment: Mapping[str, str], tmp_path: Path) -> None:
    cluster = Cluster.start(platform, "notices", three_combined, FROM)
    between = tmp_path / "between.yml"
    between.write_text("- ansible.builtin.fail: {msg: The shop is on fire.}\n")
    try:
        with webhook() as hook:
            given = {**cluster.variables(TO), "upgrade_webhook": f"{hook.url}/200/Never-Told"}
            given["upgrade_webhook_body"] = {**BODY, "channel": "search"}
            given = confirmed(given, ansible_environment)
            assert hook.got == []
            early = {"upgrade_at": moment(7_200), "upgrade_wait": False}
            passes = [play(PLAYBOOK, {**given, **early}, ansible_environment) for _pass in range(2)]
            assert [each.code for each in passes] == [0, 0]
            stopped = play(PLAYBOOK, {**given, "upgrade_tasks_between": str(between)}, ansible_environment)
            assert stopped.code != 0
            done = upgrade(given, ansible_environment)
            print(done.output)
            assert done.code == 0, done.message
            assert not [each for each in (*passes, stopped, done) if "Never-Told" in each.output]
            assert hook.states == ["waiting", "started", "failed", "completed"]
            assert hook.got[2]["codes"] == ["own_tasks_failed"]
            assert {each["channel"] for each in hook.got} == {"search"}
        away = upgrade(given, ansible_environment)
        assert away.code == 0, away.message
    finally:
        cluster.remove()
