"""The alerts for the metrics of upgrades, evaluated by the real promtool on the figures of records."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.common.timestamps import timestamp_of
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import name_for
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import EventKind, happened
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.measures import (
    PREFIX,
    Measure,
    measures_of,
    measures_of_request,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.recorded_start import Start

from tests.lab.monitoring.debian import ensure_unpacked
from tests.unit.plugins.module_utils.run.records import AT, batch_of, record_of

MANIFEST = Path(__file__).resolve().parents[3] / "extensions/monitoring/alerts.yaml"
RULES = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))["spec"]
START = timestamp_of(AT)
OWN = {"upgrade": "stateful-upgrade-1", "namespace": "search"}
TIME = "_time_seconds"
"""The end of the names of figures that are times. For promtool the time begins at 0."""
BATCH = batch_of("a", state="upgrading", started=AT)
RUNNING = record_of(BATCH)
RENEWED = 'kube_lease_renew_time{namespace="search",lease="%s"}'
"""The last renewal of a Lease, as kube-state-metrics shows it."""
STOPPED = replace(RUNNING, codes=("timed_out",))
LATE = replace(RUNNING, events=(happened(EventKind.LATE, AT, "night", "a", "It drains."),))


def starting(hours: float, **more: Any) -> Start:
    """A start in so many hours."""
    at, end = ((START + timedelta(hours=each)).strftime("%Y-%m-%dT%H:%M:%SZ") for each in (hours, hours + 4))
    return Start(at, end, "start_only", **{"checked": AT, "findings": (), "delayed": "", **more})


def pending(start: Start) -> list[Measure]:
    """The figures of an upgrade that is to start."""
    return measures_of(record_of(batch_of("a"), phase=Phase.PENDING, start=start))


def series(measures: Sequence[Measure]) -> dict[str, float]:
    """The figures as Prometheus has them."""
    found = dict[str, float]()
    for each in measures:
        labels = ",".join(f"{name}={json.dumps(text)}" for name, text in {**OWN, **each.labels}.items())
        value = each.value - START.timestamp() if each.name.endswith(TIME) else each.value
        found[f"{PREFIX}_{each.name}{{{labels}}}"] = value
    return found


def promtool(folder: Path, case: dict[str, Any]) -> None:
    """Fails unless the rules do as this case of promtool says."""
    (folder / "rules.yml").write_text(yaml.safe_dump(RULES))
    cases = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": [{"interval": "1m", **case}]}
    (folder / "cases.yml").write_text(yaml.safe_dump(cases))
    command = [str(ensure_unpacked() / "promtool"), "test", "rules", "cases.yml"]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def values(given: Mapping[str, float | str], minutes: int) -> list[dict[str, str]]:
    """Series of promtool that stay as they are, or go on as a text says: `0+60` grows by 60 a minute."""
    return [{"series": name, "values": f"{value}x{minutes}"} for name, value in given.items()]


CASES: list[tuple[str, Mapping[str, float | str], int, set[str]]] = [
    ("a run at work", series(measures_of(RUNNING)), 60, set()),
    ("a run at work for long", series(measures_of(RUNNING)), 180, {"StatefulUpgradeSilent"}),
    ("a run in a batch of hours", {**series(measures_of(RUNNING)), RENEWED % OWN["upgrade"]: "0+60"}, 180, set()),
    (
        "a run next to another one in a batch of hours",
        {**series(measures_of(RUNNING)), RENEWED % "stateful-upgrade-2": "0+60"},
        180,
        {"StatefulUpgradeSilent"},
    ),
    (
        "a run that was killed",
        {**series(measures_of(RUNNING)), RENEWED % OWN["upgrade"]: 0.0},
        180,
        {"StatefulUpgradeSilent", "StatefulUpgradeInterrupted"},
    ),
    ("a run that has stopped", series(measures_of(STOPPED)), 180, {"StatefulUpgradeStopped"}),
    ("a late batch", series(measures_of(LATE)), 60, {"StatefulUpgradeBatchLate"}),
    (
        "problems a day before the start",
        series(pending(starting(20, findings=("Red.",)))),
        60,
        {"StatefulUpgradeToFix"},
    ),
    ("problems days before the start", series(pending(starting(60, findings=("Red.",)))), 60, set()),
    ("no problem before the start", series(pending(starting(20))), 60, set()),
    ("a late start", series(pending(starting(-1, delayed=AT))), 60, {"StatefulUpgradeDelayed"}),
    ("a pause", series(measures_of(replace(RUNNING, phase=Phase.PAUSED))), 600, set()),
    *(
        (
            f"a stop for {code}",
            series(measures_of(replace(RUNNING, phase=Phase.PAUSED, codes=(code,)))),
            600,
            set[str](),
        )
        for code in ("approval_missing", "next_hop", "paused_on_request", "starts_later", "window_closed")
    ),
    ("a long pause", series(measures_of(replace(RUNNING, phase=Phase.PAUSED))), 800, {"StatefulUpgradePaused"}),
    ("a missed window", series(measures_of(replace(RUNNING, phase=Phase.FAILED))), 60, {"StatefulUpgradeMissed"}),
    ("an end", series(measures_of(replace(RUNNING, phase=Phase.COMPLETED))), 800, set()),
    ("an abort", series(measures_of(replace(RUNNING, phase=Phase.ABORTED))), 800, set()),
    (
        "a request that is invalid",
        series(measures_of_request("invalid", ("invalid", "started"))),
        60,
        {"StatefulUpgradeRequestInvalid"},
    ),
    (
        "a lock that was not renewed",
        {RENEWED % name_for("uuid"): 0.0},
        30,
        {"StatefulUpgradeInterrupted"},
    ),
    ("a lock of others", {RENEWED % "operator": 0.0}, 30, set()),
]


@pytest.mark.parametrize(("given", "minutes", "wanted"), [pytest.param(*each, id=name) for name, *each in CASES])
def test_an_alert_fires_for_what_a_person_has_to_look_at(
    tmp_path: Path, given: Mapping[str, float | str], minutes: int, wanted: set[str]
) -> None:
    samples = [{"labels": f'{{alertname="{each}"}}', "value": 1} for each in sorted(wanted)]
    firing = 'count by (alertname) (ALERTS{alertstate="firing"})'
    asked = [{"expr": firing, "eval_time": f"{minutes}m", "exp_samples": samples}]
    promtool(tmp_path, {"input_series": values(given, minutes), "promql_expr_test": asked})


def test_each_alert_fires_in_one_of_the_cases() -> None:
    named = {rule["alert"] for group in RULES["groups"] for rule in group["rules"]}
    assert named == {each for *_case, wanted in CASES for each in wanted}


def test_an_alert_says_what_has_stopped_where_and_what_to_do(tmp_path: Path) -> None:
    alert = {
        "exp_labels": {**OWN, "code": "timed_out", "severity": "warning"},
        "exp_annotations": {
            "summary": "Upgrade stateful-upgrade-1 has stopped (timed_out).",
            "description": "The last run of the upgrade in namespace search was refused, or stopped."
            " The playbook `status` shows the cause and its fix. Fix it, and run the same playbook again.",
        },
    }
    asked = [{"alertname": "StatefulUpgradeStopped", "eval_time": "5m", "exp_alerts": [alert]}]
    promtool(tmp_path, {"input_series": values(series(measures_of(STOPPED)), 5), "alert_rule_test": asked})
