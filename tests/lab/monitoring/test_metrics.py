"""The figures of an upgrade in a file and at a real push gateway, both read by the parser of Prometheus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import requests
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record import upgrade_record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start import upgrade_request
from prometheus_client.parser import text_string_to_metric_families

from tests.lab.monitoring.servers import push_gateway
from tests.unit.plugins.module_utils.run.test_upgrade_record import PLAN

Json = dict[str, Any]
CONNECTION = {
    "username": None,
    "password": None,
    "token": None,
    "ca_cert": None,
    "validate_certs": True,
    "request_timeout": 10,
}


def values(text: str, name: str, label: str) -> dict[str, float]:
    """The values of a gauge by one of its labels."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {sample.labels[label]: sample.value for sample in samples if sample.name == f"stateful_upgrade_{name}"}


def test_a_record_is_measured_whenever_it_is_written_and_a_gateway_that_is_away_stops_nothing(tmp_path: Path) -> None:
    warned: list[str] = []

    def write(state: str, **given: Any) -> Json:
        own = {"record_kept_in": "file", "record_path": str(tmp_path / "records"), "metrics_path": str(tmp_path / "to")}
        lock = {"run": "night", "name": "stateful-upgrade-1"}
        params = upgrade_record.CONTRACT.arguments({}, state=state, lock=lock, push_gateway=gateway, **own, **given)
        return perform(upgrade_record.run, Task(params=params, warn=warned.append))

    batch = {"batch": "batch-01.a", "batch_state": "failed"}
    with push_gateway(tmp_path) as url:
        gateway = {**CONNECTION, "url": url}
        assert write("begun", plan=PLAN)["changed"]
        for text in (
            requests.get(f"{url}/metrics", timeout=10).text,
            (tmp_path / "to/stateful-upgrade-1.prom").read_text(),
        ):
            assert values(text, "phase", "phase")["Pending"] == 1.0
        write("batch", **batch, summary="It is late.", codes=["timed_out"])
        text = requests.get(f"{url}/metrics", timeout=10).text
        assert values(text, "reason", "code") == {"timed_out": 1.0}
        assert values(text, "phase", "phase")["Pending"] == 0.0
        assert values(text, "members", "state")["failed"] >= 1.0
        write("ended", event="aborted", summary="Aborted on request.")
        text = requests.get(f"{url}/metrics", timeout=10).text
        assert (values(text, "reason", "code"), values(text, "phase", "phase")["Aborted"]) == ({}, 1.0)
    assert warned == []
    assert write("ended", event="aborted")["verdict"]["state"] == "passed"
    write("begun", plan=PLAN)
    assert len(warned) == 1
    assert warned[0].startswith("The metrics were not written. The push gateway 127.0.0.1:")


def test_an_invalid_request_has_a_figure(tmp_path: Path) -> None:
    request = tmp_path / "request.yml"
    request.write_text("type: nothing\n")
    own = {"source": str(request), "state": "noted", "request_state": "invalid", "metrics_path": str(tmp_path / "to")}
    result = perform(upgrade_request.run, Task(params=upgrade_request.CONTRACT.arguments({}, **own)))
    assert result["changed"]
    (file,) = (tmp_path / "to").iterdir()
    states = values(file.read_text(), "request", "state")
    assert (states["invalid"], states["started"]) == (1.0, 0.0)
