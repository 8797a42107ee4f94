"""The health of a cluster in figures: no worse than before the first batch, whatever restarts in between."""

from __future__ import annotations

from datetime import date

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.run.health_figures import (
    MEASURED,
    AcceptedFigure,
    HealthComparison,
    HealthFigure,
    HealthJudge,
    HealthLook,
    accepted_in,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.health_record import (
    ACCEPTED,
    MOST_PARTS,
    MOST_ROWS,
    NO_WORSE,
    NOT_JUDGED,
    WORSE,
    FigureRow,
    HealthRecord,
    ProcessCounts,
    first_look,
    increases,
    lifetime,
    with_before,
    without_counters,
)
from ansible_collections.stateful.upgrade.plugins.plugin_utils.monitoring_inputs import faults_of_monitoring
from hypothesis import given
from hypothesis import strategies as st

LOST = HealthFigure("lost", "lost shards", "A member may be away.")
REFUSED = HealthFigure(
    "refused",
    "refused searches",
    "See the pool.",
    " %",
    100.0,
    rate=True,
    ratio=2.0,
    floor=0.001,
    sample=200,
    events=10,
)
FIGURES = (LOST, REFUSED)
TODAY, AT = date(2026, 11, 28), "2026-11-28T10:00:00Z"


def process(refused: int, sample: int, started: float = 1000.0, uptime: float = 900.0) -> ProcessCounts:
    return ProcessCounts(started, uptime, {"refused": (refused, sample)})


def known(rate: float | None = 0.01, lost: dict[str, int] | None = None, **processes: ProcessCounts) -> HealthRecord:
    now = first_look(AT, ["refused"], processes)
    return with_before(now, now, {"lost": lost or {}}, {} if rate is None else {"refused": rate})


def compared(
    record: HealthRecord,
    processes: dict[str, ProcessCounts] | None = None,
    lost: dict[str, int] | None = None,
    seconds: float = 300.0,
    accepted: tuple[AcceptedFigure, ...] = (),
) -> HealthComparison:
    judge = HealthJudge(FIGURES, record, accepted, ["b-0", "b-1"], TODAY)
    return judge.compare(HealthLook({"lost": lost or {}}, processes or {}), AT, seconds)


def outcomes(found: HealthComparison) -> dict[str, str]:
    return {row.figure: row.outcome for row in found.rows}


def test_no_worse_passes_without_a_word() -> None:
    found = compared(known(a=process(10, 1000)), {"a": process(20, 2000)})
    assert (found.verdict.reasons, outcomes(found)) == ((), {"lost": NO_WORSE, "refused": NO_WORSE})


def test_a_worse_rate_is_refused_with_both_values_and_the_way_to_accept_it() -> None:
    found = compared(known(a=process(10, 1000)), {"a": process(60, 2000)})
    (reason,) = found.verdict.deciding()
    assert found.verdict.state is State.REFUSED
    assert reason.code == "health_worse"
    assert reason.message == (
        "The upgrade stops. b-0, b-1 went last. Now the cluster is worse than before: refused searches: 5 % now,"
        " and 1 % before the first batch."
    )
    assert reason.remedy == (
        "See the pool. Fix that and run again, or accept refused with a reason, an owner and a last day"
        " (upgrade_accept_worse)."
    )
    assert outcomes(found)["refused"] == WORSE


@pytest.mark.parametrize(
    ("grown", "outcome"),
    [
        ((20, 1000), NO_WORSE),  # twice as much is the limit
        ((21, 1000), WORSE),
        ((9, 200), NO_WORSE),  # too rare to say anything
        ((10, 200), WORSE),
        ((150, 199), NOT_JUDGED),  # too small a sample
        ((0, 0), NOT_JUDGED),
    ],
)
def test_tolerance_and_least_sample(grown: tuple[int, int], outcome: str) -> None:
    found = compared(known(a=process(5, 500)), {"a": process(5 + grown[0], 500 + grown[1])})
    assert outcomes(found)["refused"] == outcome


def test_where_none_were_refused_before_a_thousandth_is_no_worse() -> None:
    assert outcomes(compared(known(0.0, a=process(0, 0)), {"a": process(20, 20_000)}))["refused"] == NO_WORSE
    assert outcomes(compared(known(0.0, a=process(0, 0)), {"a": process(21, 20_000)}))["refused"] == WORSE


def test_an_idle_cluster_before_is_compared_with_nothing() -> None:
    found = compared(known(None, a=process(0, 0)), {"a": process(500, 1000)})
    assert outcomes(found)["refused"] == NOT_JUDGED
    assert found.verdict.passed


def test_a_short_time_is_measured_on_and_nothing_is_refused_before() -> None:
    found = compared(known(a=process(0, 0)), {"a": process(500, 1000)}, seconds=MEASURED - 12)
    assert [(each.code, each.state) for each in found.verdict.reasons] == [("health_measuring", State.WAITING)]


def test_more_of_a_level_is_waited_for_part_by_part() -> None:
    found = compared(known(lost={"old": 3}), lost={"old": 2, "logs": 1, "orders": 2})
    (reason,) = found.verdict.deciding()
    assert (reason.code, reason.state) == ("health_recovering", State.WAITING)
    assert "more lost shards: 5, and there were 3 before the first batch: " in reason.message
    assert reason.message.endswith("logs (0 before, 1 now), orders (0 before, 2 now).")
    assert compared(known(lost={"old": 3}), lost={"old": 3}).verdict.passed


def test_of_too_many_parts_only_the_sum_is_compared() -> None:
    many = {f"i{number}": 1 for number in range(MOST_PARTS + 1)}
    record = known(lost=many)
    assert record.levels("lost") == {"": MOST_PARTS + 1}
    assert compared(record, lost=dict(list(many.items())[1:]) | {"new": 1}).verdict.passed
    assert compared(record, lost={**many, "new": 1}).verdict.state is State.WAITING


def test_an_accepted_figure_is_a_remark_until_its_day_is_over() -> None:
    good = AcceptedFigure("refused", "a known job", "search", TODAY)
    found = compared(known(a=process(0, 0)), {"a": process(500, 1000)}, accepted=(good,))
    assert (found.verdict.state, outcomes(found)["refused"]) == (State.PASSED, ACCEPTED)
    assert "This is accepted until 2026-11-28: a known job (search)." in found.verdict.reasons[0].message
    over = AcceptedFigure("refused", "a known job", "search", date(2026, 11, 27))
    found = compared(known(a=process(0, 0)), {"a": process(500, 1000)}, accepted=(over,))
    assert found.verdict.state is State.REFUSED
    assert "It was accepted until 2026-11-27 (search)." in found.verdict.reasons[0].message


def test_an_entry_without_a_day_is_refused_before_anything_is_touched() -> None:
    entry = {"figure": "refused", "reason": "r", "owner": "o", "until": "soon"}
    with pytest.raises(Refusal, match="refused of accept_worse cannot be used"):
        accepted_in([entry], "accept_worse")
    faults = list(faults_of_monitoring({"upgrade_accept_worse": [entry]}))
    assert any("upgrade_accept_worse cannot be used" in each for each in faults)
    assert any("upgrade_accept_worse does nothing without upgrade_soak_time" in each for each in faults)


@pytest.mark.parametrize(
    ("now", "grown"),
    [
        (process(15, 1500), (5, 500)),
        # It has restarted: it counts from its start.
        (process(3, 300, started=2000.0, uptime=100.0), (3, 300)),
        # It has restarted, and counted more than before since.
        (process(30, 3000, started=2000.0, uptime=100.0), (30, 3000)),
        # The clock of its machine was set by a little.
        (process(15, 1500, started=1003.0), (5, 500)),
        # Counters that fall without a restart say nothing.
        (process(5, 500), None),
        # It is older than the last look, which has not seen it.
        (process(30, 3000, started=500.0, uptime=5000.0), None),
    ],
)
def test_counters_count_from_the_last_look_or_from_the_start_of_the_process(
    now: ProcessCounts, grown: tuple[int, int] | None
) -> None:
    found = increases(known(a=process(10, 1000)), {"a": now}, 300.0)
    assert found.get("refused") == grown


def test_a_member_that_was_not_there_counts_from_its_start_and_one_that_is_gone_not_at_all() -> None:
    record = known(gone=process(10, 1000))
    assert increases(record, {"new": process(1, 100, uptime=30.0)}, 300.0) == {"refused": (1, 100)}
    assert increases(record, {"new": process(1, 100, uptime=900.0)}, 300.0) == {}


COUNTS = st.tuples(st.integers(0, 1000), st.integers(0, 1000))


@given(
    steps=st.lists(st.tuples(st.booleans(), COUNTS), min_size=1, max_size=8),
    first=COUNTS,
)
def test_the_sum_of_all_increases_is_what_happened_whatever_restarts(
    steps: list[tuple[bool, tuple[int, int]]], first: tuple[int, int]
) -> None:
    started, counts, seen = 0.0, first, 1000.0
    record = first_look(AT, ["refused"], {"a": process(*counts, started=started, uptime=seen - started)})
    happened, counted = [0, 0], [0, 0]
    for restarts, (refused, sample) in steps:
        if restarts:
            started, counts = seen + 10, (0, 0)
        counts = (counts[0] + refused, counts[1] + sample)
        seen += 100.0
        happened = [happened[0] + refused, happened[1] + sample]
        now = {"a": process(*counts, started=started, uptime=seen - started)}
        more = increases(record, now, 100.0)["refused"]
        counted = [counted[0] + more[0], counted[1] + more[1]]
        record = first_look(AT, ["refused"], now)
    assert counted == happened


def test_the_whole_life_is_the_sum_of_all_processes() -> None:
    assert lifetime({"a": process(1, 100), "b": process(2, 50)}) == {"refused": (3, 150)}


def test_of_many_batches_only_the_rows_that_were_worse_stay() -> None:
    record = known(a=process(0, 0))
    for number in range(MOST_ROWS + 20):
        rows = [FigureRow(AT, f"b-{number}", "lost", "0", "1", WORSE if number % 2 else NO_WORSE)]
        record = record.noted(first_look(AT, ["refused"], {}), rows)
    assert len(record.rows) <= MOST_ROWS + 1
    assert all(row.outcome == WORSE for row in record.rows[:-1])
    assert without_counters(record) is not None
