"""The end of a run and the report of the upgrade say the same, from the record alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.scenarios.fault_proxy import Trap
from tests.scenarios.interruptions import ACTS, UpgradeRuns, upgraded_once
from tests.scenarios.playbook import play

INDEX, DOCUMENTS = "orders", 5


def test_the_report_has_the_documents_the_longest_wait_and_how_soon_all_was_green(
    upgrade_runs: UpgradeRuns, tmp_path: Path
) -> None:
    cluster = upgrade_runs.cluster
    cluster.ask(f"/{INDEX}", "PUT", {"settings": {"number_of_shards": 1, "number_of_replicas": 1}})
    for number in range(DOCUMENTS):
        cluster.ask(f"/{INDEX}/_doc/{number}?refresh=true", "PUT", {"number": number})
    cluster.until_green()

    def delete_one() -> None:
        cluster.ask(f"/{INDEX}/_doc/1?refresh=true", "DELETE")

    method, path, holds = ACTS["restore"]
    with upgrade_runs.slow_first(8), upgrade_runs.running() as (proxy, run):
        proxy.trap = Trap(method, path, after=True, spring=delete_one, holds=holds)
        played = run.wait()

    print(played.output)
    assert played.code == 0, played.message
    upgraded_once(upgrade_runs)
    found = report(upgrade_runs, tmp_path)
    counts = {row["name"]: row for row in found["counts"]["rows"]}
    assert counts[INDEX] == {
        "name": INDEX,
        "before": DOCUMENTS,
        "after": DOCUMENTS - 1,
        "note": "fewer than before",
    }
    assert found["counts"]["rows"][0]["name"] == INDEX
    told(played.output, found)


def told(output: str, found: dict[str, Any]) -> None:
    """The end of the run and its lines have the figures of the report."""
    later = [one["green_seconds"] for one in found["bars"]]
    assert None not in later, later
    assert len(re.findall(r"goes down, green within .* of the batch before", output)) == len(later) - 1
    longest, (said,) = found["waits"][0], re.findall(r" · (longest wait .*?) · record ", output)
    assert longest["seconds"] >= 5
    words, whole = said.partition(": ")[2], longest["message"].rstrip(".")
    # A long one is shortened in the line.
    assert words == whole or (words.endswith("…") and whole.startswith(words[:-1])), (said, longest)


def report(upgrade_runs: UpgradeRuns, directory: Path) -> dict[str, Any]:
    """The report, as the playbook writes it."""
    file = directory / "report.json"
    known = {"upgrade_kubernetes", "upgrade_namespace"}
    given = {name: value for name, value in upgrade_runs.cluster.variables("3.8.0").items() if name in known}
    played = play("stateful.upgrade.report", {**given, "upgrade_report_path": str(file)}, upgrade_runs.environment)
    assert played.code == 0, played.message
    return dict(json.loads(file.read_text(encoding="utf-8"))["report"])
