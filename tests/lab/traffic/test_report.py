"""The figures of a traffic run, from hand-made records."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from tests.lab.traffic.budgets import AWAY, BUDGETS, FEWEST, HOSTS, REFUSED, ROLLING, Budget
from tests.lab.traffic.generator import search_failure
from tests.lab.traffic.members import Answer, failure_class, ready_addresses
from tests.lab.traffic.records import Acknowledgement, Health, Log, Operation, read
from tests.lab.traffic.report import (
    EXAMPLES,
    PARTIAL,
    Loss,
    Operations,
    Report,
    longest_gap,
    loss,
    seconds_by_status,
    summarize,
)

OPERATIONS = [
    Operation("write", 0.0, 0.5),
    Operation("write", 1.0, 0.5, "connection refused"),
    Operation("write", 2.0, 0.5, "503 cluster_block_exception"),
    Operation("write", 3.0, 0.5),
    Operation("search", 1.0, 0.5),
    Operation("search", 2.0, 0.5, PARTIAL),
]


def test_operations_are_counted_by_kind_and_by_class_of_failure() -> None:
    report = summarize(OPERATIONS, [], 0.0, 4.0)
    assert (report.writes.attempted, report.writes.failed, report.writes.error_rate) == (4, 2, 0.5)
    assert report.writes.failures == {"connection refused": 1, "503 cluster_block_exception": 1}
    assert (report.searches.attempted, report.searches.failed, report.searches.partial) == (2, 1, 1)
    assert report.writes.partial == 0


def test_the_longest_gap_lies_between_successes_and_counts_from_their_ends() -> None:
    report = summarize(OPERATIONS, [], 0.0, 4.0)
    assert report.writes.longest_gap == 3.0
    assert report.searches.longest_gap == 2.5


def test_operations_of_an_earlier_run_in_the_same_directory_are_not_counted() -> None:
    later = [Operation("write", 11.0, 0.5), Operation("search", 12.0, 0.5)]
    report = summarize([*OPERATIONS, *later], [], 10.0, 14.0)
    assert (report.writes.attempted, report.writes.failed) == (1, 0)
    assert (report.searches.attempted, report.searches.failed) == (1, 0)


@pytest.mark.parametrize(
    ("moments", "gap"),
    [([], 10.0), ([4.0], 6.0), ([9.0], 9.0), ([1.0, 2.0, 9.5], 7.5), ([5.0, 11.0, -1.0], 5.0), ([8.0, 1.0], 7.0)],
)
def test_a_gap_reaches_from_the_begin_and_to_the_end_of_the_run(moments: list[float], gap: float) -> None:
    assert longest_gap(moments, 0.0, 10.0) == gap


def test_no_operation_at_all_is_no_error_and_one_gap() -> None:
    report = summarize([], [], 0.0, 7.0)
    assert (report.writes.error_rate, report.writes.longest_gap, report.seconds) == (0.0, 7.0, 7.0)


def test_a_status_holds_until_the_next_look() -> None:
    samples = [Health(1.0, "green"), Health(3.0, "red"), Health(3.5, "yellow"), Health(6.0, "green")]
    seconds = seconds_by_status(samples, 0.0, 10.0)
    assert seconds == {"unknown": 1.0, "green": 6.0, "red": 0.5, "yellow": 2.5}


def test_without_looks_all_is_unknown_and_the_seconds_always_add_up() -> None:
    assert seconds_by_status([], 0.0, 5.0)["unknown"] == 5.0
    outside = [Health(-1.0, "green"), Health(2.0, "yellow"), Health(9.0, "red")]
    assert seconds_by_status(outside, 0.0, 5.0) == {"green": 2.0, "yellow": 3.0, "red": 0.0, "unknown": 0.0}


def test_missing_documents_are_counted_by_reason_with_a_few_examples() -> None:
    acknowledged = [Acknowledgement("traffic-0", str(number)) for number in range(30)]
    gone = dict.fromkeys(acknowledged[5:25], "not found") | {acknowledged[0]: "index_not_found_exception"}
    found = loss(acknowledged, gone)
    assert (found.acknowledged, found.count) == (30, 21)
    assert found.missing == {"not found": 20, "index_not_found_exception": 1}
    assert found.examples[:2] == ("traffic-0/0", "traffic-0/5")
    assert len(found.examples) == EXAMPLES
    assert loss(acknowledged, {}).count == 0


def test_a_report_survives_its_file(tmp_path: Path) -> None:
    acknowledged = [Acknowledgement("traffic-0", "a")]
    samples = [Health(0.5, "green")]
    for found in (None, loss(acknowledged, {acknowledged[0]: "not found"})):
        summary = summarize(OPERATIONS, samples, 0.0, 4.0)
        report = Report(summary.seconds, summary.writes, summary.searches, summary.health, found)
        report.write(tmp_path)
        assert Report.read(tmp_path) == report


def test_the_table_says_what_failed_and_what_is_missing() -> None:
    summary = summarize(OPERATIONS, [Health(0.0, "green"), Health(3.0, "red")], 0.0, 4.0)
    assert "documents not checked" in summary.table()
    found = loss([Acknowledgement("traffic-0", "a")], {Acknowledgement("traffic-0", "a"): "not found"})
    table = Report(summary.seconds, summary.writes, summary.searches, summary.health, found).table()
    assert "green 3.0 s, yellow 0.0 s, red 1.0 s, unknown 0.0 s" in table
    assert "1x connection refused" in table
    assert f"1x {PARTIAL}" in table
    assert "documents 1 acknowledged, 1 missing" in table
    assert "for example traffic-0/a" in table


def _ran(**of: Any) -> Report:
    """A run that came to no harm, but for what is given."""
    sound = {
        "seconds": 400.0,
        "writes": Operations(1000, {}, 0.5),
        "searches": Operations(1000, {}, 0.5),
        "health": {"green": 390.0, "yellow": 10.0, "red": 0.0, "unknown": 0.0},
        "loss": Loss(2000, {}, ()),
    }
    return Report(**{**sound, **of})


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.name)
def test_a_run_that_suffered_nothing_is_in_every_budget_and_one_that_lost_a_document_in_none(budget: Budget) -> None:
    assert _ran().harm(budget) == []
    (said,) = _ran(loss=Loss(2000, {"not found": 1}, ("traffic-0/a",))).harm(budget)
    assert said == "1 acknowledged documents are missing."


@pytest.mark.parametrize("kind", ["writes", "searches"])
def test_so_many_operations_may_fail_and_no_more(kind: str) -> None:
    assert _ran(**{kind: Operations(1000, {"timeout": 15, PARTIAL: 5}, 9.0)}).harm(ROLLING) == []
    (said,) = _ran(**{kind: Operations(1000, {"timeout": 16, PARTIAL: 5}, 9.0)}).harm(ROLLING)
    assert said == f"21 of 1000 {kind} failed (2.10%); budget ROLLING has 2%: 5x {PARTIAL}, 16x timeout."


@pytest.mark.parametrize("kind", ["writes", "searches"])
def test_a_few_failures_of_a_short_run_are_no_harm_unless_nothing_succeeded(kind: str) -> None:
    assert _ran(**{kind: Operations(100, {"timeout": FEWEST}, 9.0)}).harm(ROLLING) == []
    assert _ran(**{kind: Operations(100, {"timeout": FEWEST + 1}, 9.0)}).harm(ROLLING)
    assert _ran(**{kind: Operations(3, {"timeout": 3}, 9.0)}).harm(ROLLING) == [f"All 3 {kind} failed."]
    assert _ran(**{kind: Operations(1000, {"no Ready pod": 1000}, 9.0)}).harm(AWAY) == [f"All 1000 {kind} failed."]


def test_what_a_stopped_host_refuses_is_repeated_at_another_one_and_what_it_breaks_off_is_not() -> None:
    refused = Operations(1000, {REFUSED: 400}, 1.0)
    assert _ran(writes=refused, searches=refused).harm(HOSTS) == []
    assert len(_ran(writes=refused, searches=refused).harm(ROLLING)) == 2
    (said,) = _ran(writes=Operations(1000, {REFUSED: 400, "timeout": 101}, 1.0)).harm(HOSTS)
    assert said.startswith("101 of 1000 writes failed (10.10%); budget HOSTS has 10%: ")


def test_a_red_or_an_unknown_cluster_is_harm_beyond_the_budget() -> None:
    ill = {"green": 300.0, "yellow": 10.0, "red": 0.5, "unknown": 20.5}
    assert _ran(health=ill).harm(ROLLING) == [
        "The cluster was red for 0.5 s; budget ROLLING has 0.0 s.",
        "The cluster was unknown for 20.5 s; budget ROLLING has 20.0 s.",
    ]
    assert _ran(health=ill).harm(AWAY) == []
    assert _ran(health={**ill, "red": 0.0, "unknown": 20.0}).harm(ROLLING) == []


def test_a_figure_that_is_missing_is_harm() -> None:
    assert summarize([], [], 0.0, 5.0).harm(AWAY) == [
        "No writes were attempted.",
        "No searches were attempted.",
        "The health of the cluster was never seen.",
        "The documents were not checked.",
    ]
    assert _ran(loss=Loss(0, {}, ())).harm(ROLLING) == ["No document was acknowledged."]


def test_the_figures_are_printed_beside_their_limits(capsys: pytest.CaptureFixture[str]) -> None:
    writes = Operations(1270, {REFUSED: 1, "timeout": 7}, 8.3)
    _ran(writes=writes).keeps(ROLLING)
    said = "writes 0.63% of 2%, searches 0.00% of 2%, unknown 0.0 s of 20 s, red 0.0 s of 0 s"
    assert capsys.readouterr().out == f"budget ROLLING: {said}\n"
    with pytest.raises(AssertionError, match="The documents were not checked"):
        _ran(loss=None).keeps(ROLLING)
    assert capsys.readouterr().out.startswith("budget ROLLING: ")


def test_the_budgets_are_written_down_with_their_reasons() -> None:
    page = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    assert [line for line in page.splitlines() if line.startswith("| `")] == [budget.row() for budget in BUDGETS]
    assert f"at least {FEWEST} failures of writes" in " ".join(page.split())
    for budget in BUDGETS:
        assert budget.reason
        assert 0 < budget.writes < 1 > budget.searches > 0


def test_records_are_readable_at_once_and_a_cut_line_is_left_out(tmp_path: Path) -> None:
    log = Log(tmp_path, Operation)
    log.append(*OPERATIONS)
    with (tmp_path / "operations.jsonl").open("a") as stream:
        stream.write('{"kind": "wri')
    assert read(tmp_path, Operation) == OPERATIONS
    assert read(tmp_path, Acknowledgement) == []
    log.close()


@pytest.mark.parametrize(
    ("shards", "failure"),
    [
        ({"total": 12, "successful": 12, "skipped": 0, "failed": 0}, None),
        ({"total": 12, "successful": 11, "skipped": 0, "failed": 1}, PARTIAL),
        ({"total": 12, "successful": 11, "skipped": 0, "failed": 0}, PARTIAL),
        ({"total": 0, "successful": 0, "skipped": 0, "failed": 0}, PARTIAL),
    ],
)
def test_a_search_succeeds_only_when_every_shard_answered(shards: dict[str, int], failure: str | None) -> None:
    assert search_failure(Answer(200, {"_shards": shards})) == failure


def test_a_refused_search_is_classed_by_status_and_type() -> None:
    assert search_failure(Answer(503, {"error": {"type": "cluster_block_exception"}})) == "503 cluster_block_exception"
    assert search_failure(Answer(429, "busy")) == "429"


def _connector_error(number: int) -> aiohttp.ClientConnectorError:
    key: Any = SimpleNamespace(host="127.0.0.1", port=9200, ssl=None, is_ssl=False)
    return aiohttp.ClientConnectorError(key, OSError(number, os.strerror(number)))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (_connector_error(errno.ECONNREFUSED), "connection refused"),
        (_connector_error(errno.ENETUNREACH), "no connection"),
        (aiohttp.ServerDisconnectedError(), "connection lost"),
        (aiohttp.ClientPayloadError(), "connection lost"),
        (ConnectionResetError(), "connection lost"),
        (asyncio.TimeoutError(), "timeout"),
        (aiohttp.ServerTimeoutError(), "timeout"),
        (aiohttp.ClientError(), "ClientError"),
    ],
)
def test_errors_of_transport_have_plain_classes(error: Exception, words: str) -> None:
    assert failure_class(error) == words


def _pod(address: str | None, *, ready: str | None = "True", deleted: str | None = None) -> Any:
    conditions = None if ready is None else [SimpleNamespace(type="Ready", status=ready)]
    return SimpleNamespace(
        metadata=SimpleNamespace(deletion_timestamp=deleted),
        status=SimpleNamespace(pod_ip=address, conditions=conditions),
    )


def test_only_ready_pods_that_are_not_being_deleted_get_traffic() -> None:
    pods = [
        _pod("127.0.0.3"),
        _pod("127.0.0.2", ready="False"),
        _pod("127.0.0.4", ready=None),
        _pod(None),
        _pod("127.0.0.5", deleted="2026-01-01T00:00:00Z"),
        _pod("127.0.0.1"),
    ]
    assert ready_addresses(pods) == ("127.0.0.1", "127.0.0.3")
