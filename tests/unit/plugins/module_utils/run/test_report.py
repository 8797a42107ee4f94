"""The report of an upgrade: its axis, its sums, and the pages that are made of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.filter.report import report
from ansible_collections.stateful.upgrade.plugins.module_utils.run.counts import counted_after, counted_before
from ansible_collections.stateful.upgrade.plugins.module_utils.run.output.report import (
    MOST_WAITS,
    Report,
    report_of,
    runs_of,
    waits_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batches import (
    BatchRecord,
    ImageRecord,
    PoolRecord,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import (
    EventKind,
    RecordedEvent,
    added,
    changes,
    happened,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.milestones import conditions_of
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import (
    Record,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.waits import waited_for
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import batch_of, record_of
from jinja2 import Environment

TEMPLATES = Path(__file__).resolve().parents[5] / "playbooks" / "templates"


def batch(number: int, started: str, ended: str, run: str = "r1", state: str = "done") -> BatchRecord:
    """A batch of one member that was away for four seconds, and waited for two."""
    parts = {"stop_seconds": 1.0, "start_seconds": 3.0, "total_seconds": 4.0}
    return batch_of(
        f"data-{number}",
        name=f"batch-{number}",
        state=state,
        run=run,
        started=f"2026-11-23T{started}Z" if started else "",
        ended=f"2026-11-23T{ended}Z" if ended else "",
        took=({"name": f"data-{number}", "action": "replaced", **parts},) if ended else (),
        waited=({"code": "shards", "message": f"<logs-{number}> recovers.", "seconds": float(number)},),
    )


def record(*batches: BatchRecord, phase: Phase = Phase.COMPLETED, reason: str = "") -> Record:
    """An upgrade of these batches."""
    return record_of(
        *batches,
        digest="p0123456789a",
        run="r2",
        phase=phase,
        reason=reason,
        started="2026-11-23T02:00:00Z",
        updated="2026-11-23T02:10:00Z",
        events=(RecordedEvent("2026-11-23T02:00:00Z", "r1", "Pending", "begins"),),
        system="opensearch",
    )


TWO = (batch(1, "02:00:00", "02:00:10"), batch(2, "02:00:11", "02:00:31"))


def test_batches_lie_on_one_axis_in_the_order_of_their_begin() -> None:
    made = report_of(record(*reversed(TWO)))
    assert [(each.name, each.begin, each.end) for each in made.bars] == [("batch-1", 0, 10), ("batch-2", 11, 31)]
    assert (made.length, made.at_work, made.pauses, made.members, made.runs) == (31, 31, (), 2, 1)
    assert dict(made.phases) == {"stop": 2.0, "schedule": 0.0, "image": 0.0, "start": 6.0, "join": 0.0}
    assert [(each.away, dict(each.shares)["start"]) for each in made.bars] == [(4.0, 3.0), (4.0, 3.0)]


def test_the_runs_are_those_of_this_upgrade_also_of_passes_that_took_no_batch() -> None:
    before = RecordedEvent("2026-01-01T02:00:00Z", "of-the-last-upgrade", "Completed", "")
    scheduled = RecordedEvent("2026-11-23T02:00:01Z", "", "Pending", "starts later")
    passed = RecordedEvent("2026-11-23T02:00:02Z", "waited", "Paused", "The cluster is yellow.")
    made = record(*TWO)
    made = replace(made, events=(before, *made.events, scheduled, passed))
    assert runs_of(made) == {"r1", "waited"}
    assert report_of(made).runs == 2


def test_a_long_pause_is_cut_out_and_told() -> None:
    made = report_of(record(TWO[0], batch(2, "05:00:10", "05:00:40", run="r2")))
    (pause,) = made.pauses
    assert (pause.at, pause.seconds) == (10, 3 * 3600)
    assert made.length == pytest.approx(10 + 0.02 * 40 + 30)
    assert (made.at_work, made.runs) == (40, 2)


def test_batches_together_do_not_count_twice() -> None:
    made = report_of(record(TWO[0], replace(TWO[0], name="batch-3"), batch(4, "02:00:05", "02:00:12")))
    assert (made.length, made.at_work, made.pauses) == (12, 12, ())


def test_a_batch_under_way_lasts_until_the_last_change_and_one_to_come_is_left_out() -> None:
    under_way = batch(3, "02:09:50", "", state="upgrading")
    made = report_of(record(TWO[0], under_way, batch(4, "", "", state="pending"), phase=Phase.UPGRADING))
    assert [(each.name, each.seconds, each.away) for each in made.bars] == [("batch-1", 10, 4.0), ("batch-3", 10, 0.0)]
    assert made.members == 3
    assert made.replaced == 0
    changed = (replace(TWO[0], outdated=TWO[0].members), TWO[1])
    assert report_of(record(*changed)).replaced == 1


def test_the_longest_waits_come_first_and_no_more_than_some() -> None:
    made = report_of(record(*(batch(number, "02:00:00", "02:00:10") for number in range(MOST_WAITS + 5))))
    assert [wait.seconds for wait in made.waits] == [float(24 - place) for place in range(MOST_WAITS)]


def test_waits_beside_the_batches_count_too() -> None:
    gate = {"code": "shards", "message": "Shards of logs recover.", "seconds": 30.0}
    whole = waited_for(record(*TWO), "the end", [gate, {**gate, "seconds": 1.0}])
    assert waits_of(whole) == report_of(whole).waits
    assert [(wait.during, wait.seconds) for wait in waits_of(whole)] == [
        ("the end", 30.0),
        ("batch-2", 2.0),
        ("batch-1", 1.0),
        ("the end", 1.0),
    ]
    assert "- 30.0 s, the end: Shards of logs recover." in drawn("md", whole)


@pytest.mark.parametrize("strange", ["7", None, True, float("nan"), [7]])
def test_a_figure_that_is_none_counts_nothing(strange: Any) -> None:
    odd = replace(TWO[0], took=({"name": "a", "total_seconds": strange},), waited=({"seconds": strange},))
    made = report_of(record(odd))
    assert (made.bars[0].away, made.waits[0].seconds) == (0.0, 0.0)


def test_nothing_has_begun_yet() -> None:
    assert report_of(record()) == Report(
        "Upgrade of opensearch to 3.8.0",
        "",
        (),
        (),
        0.0,
        0.0,
        1,
        0,
        (),
        (),
        (),
        "",
        None,
        (),
    )


@pytest.mark.parametrize("strange", ["yesterday", "", "2026-99-99T00:00:00Z"])
def test_a_time_that_nobody_can_read_leaves_its_batch_out(strange: str) -> None:
    made = report_of(record(replace(TWO[0], started=strange), TWO[1]))
    assert [each.name for each in made.bars] == ["batch-2"]


def test_the_filter_takes_a_record_as_modules_give_it() -> None:
    given = {**record(*TWO).as_result(), "lock": None, "name": "stateful-upgrade-1"}
    assert report(given) == report_of(record(*TWO)).as_result()


@pytest.mark.parametrize("strange", [{}, [], 7, {"phase": "Sleeping"}])
def test_the_filter_refuses_what_is_no_record_in_one_sentence(strange: Any) -> None:
    with pytest.raises(Exception, match="The filter report needs a record of an upgrade: "):
        report(strange)


def drawn(form: str, of: Record) -> str:
    """A page as the playbook writes it."""
    template = (TEMPLATES / f"report.{form}.j2").read_text(encoding="utf-8")
    environment = Environment(trim_blocks=True, autoescape=False)  # noqa: S701 - as in Ansible, the templates escape
    return environment.from_string(template).render(report_record=of.as_result(), report_made=report(of.as_result()))


def test_the_page_shows_each_batch_and_escapes_what_others_have_written() -> None:
    page = drawn("html", record(*TWO, phase=Phase.UPGRADING, reason="Pod <data-2> is not back."))
    assert page.count("<g><title>") == 2
    assert "Pod &lt;data-2&gt; is not back." in page
    assert "&lt;logs-2&gt; recovers." in page
    assert "<logs" not in page
    assert "http" not in page


def test_more_batches_than_a_timeline_can_show_are_drawn_by_their_seconds() -> None:
    page = drawn("html", record(*(batch(number, "02:00:00", "02:00:10") for number in range(1000))))
    assert "Seconds of each batch, in order" in page
    assert page.count("<g><title>") == 1000
    assert "Timeline of the batches" not in page


def test_markdown_names_the_batches_and_the_waits() -> None:
    page = drawn("md", record(*TWO))
    assert "# Upgrade of opensearch to 3.8.0: Completed" in page
    assert "| batch-2 | data-2 | done | 20 | 4.0 |  |  |  |" in page
    assert "- 2.0 s, batch-2: <logs-2> recovers." in page


@pytest.mark.parametrize("form", ["html", "md"])
def test_members_that_go_through_no_phases_have_none_in_the_page(form: str) -> None:
    """Machines are away as a whole."""
    away = replace(TWO[0], took=({"name": "worker-1", "total_seconds": 170.0},))
    assert report_of(record(away)).phases == ()
    assert "over all members" not in drawn(form, record(away))
    assert "all members" in drawn(form, record(*TWO))


@pytest.mark.parametrize("form", ["html", "md"])
def test_a_record_without_a_batch_makes_a_page(form: str) -> None:
    assert "Nothing was waited for." in drawn(form, record())


AT = "2026-11-23T02:00:00Z"


def seen() -> Record:
    """An upgrade whose record has kept health, acts and the figures of the one before."""
    acts = [
        {"action": action, "target": target, "at": f"2026-11-23T02:00:{at}Z", **more}
        for action, target, at, more in (
            ("set", "persistent a.b", "01", {}),
            ("set", "persistent a.b", "20", {}),
            ("restored", "persistent a.b", "20", {}),
            ("patch_stateful_set", "data", "20", {"set": ["image"]}),
        )
    ]
    last = {"target_version": "2.19.6", "seconds": 900, "batches": 2, "members": 2, "usual_seconds": None}
    return replace(
        record(
            replace(TWO[0], health="green"),
            replace(TWO[1], health="yellow", health_away="red", green_seconds=13.0),
        ),
        events=added((happened(EventKind.HEALTH, AT, "r2", message="green"),), changes(acts, "r2")),
        last=(last,),
        pools=(PoolRecord("data", "upgraded"),),
    )


def test_changes_are_counted_with_how_often_they_were_put_back() -> None:
    made = report_of(seen())
    assert [(each.target, each.changed, each.put_back) for each in made.changes] == [
        ("persistent a.b", 2, 1),
        ("image of pool data", 1, 0),
    ]
    assert (made.changes[0].first, made.changes[0].last) == ("2026-11-23T02:00:01Z", "2026-11-23T02:00:20Z")
    assert ([each.health for each in made.bars], made.health) == (["green", "yellow"], "green")


def test_an_upgrade_is_compared_with_the_one_before_once_it_is_completed() -> None:
    assert report_of(seen()).compared == (
        ("seconds from begin to end", 600, 900),
        ("batches", 2, 2),
        ("members", 2, 2),
        ("seconds that a batch is usually away", 4.0, None),
    )
    assert report_of(replace(seen(), phase=Phase.UPGRADING)).compared == ()
    assert report_of(record(*TWO)).compared == ()


@pytest.mark.parametrize(
    ("form", "shown"), [("html", "<td>a&lt;b</td>"), ("md", "| a<b | 9 | 8 | fewer than before |")]
)
def test_the_pages_show_what_was_counted(form: str, shown: str) -> None:
    words = {"things": "documents", "parts": "tables"}
    counts = counted_before(None, {**words, "each": {"a<b": 9, "c": 1}}, "then")
    counts = counted_after(counts, {**words, "each": {"a<b": 8, "c": 1}}, "now")
    page = drawn(form, replace(record(*TWO), counts=counts))
    assert "Documents before and after" in page
    assert shown in page
    assert "1 of these tables has fewer documents than before." in page
    assert "before and after" not in drawn(form, record(*TWO))


@pytest.mark.parametrize("count", [2, 100])
def test_the_page_shows_health_changes_and_the_comparison(count: int) -> None:
    many = tuple(replace(batch(number, "02:00:00", "02:00:10"), health="yellow") for number in range(count))
    page = drawn("html", replace(seen(), batches=many))
    assert page.count('<rect class="yellow"') == count
    assert "Compared with the upgrade to 2.19.6" in page
    assert '<td>persistent a.b</td><td class="number">2</td><td class="number">1</td>' in page
    assert '<td>image of pool data</td><td class="number">1</td><td class="number">stays</td>' in page
    assert "<td>upgraded</td><td>0</td>" in page
    assert ">900</td>" in page


def test_the_health_while_members_are_away_is_drawn_as_it_was_seen_and_grey_where_nobody_saw_it() -> None:
    page = drawn("html", seen())
    assert [page.count(f'<rect class="{each}"') for each in ("green", "yellow", "red", "gone")] == [2, 1, 1, 1]
    assert "members away, not seen" in page
    assert "yellow when data-2 went down, red in the 4.0 s away" in page
    whole = replace(seen(), batches=tuple(replace(each, health_away="yellow") for each in seen().batches))
    assert 'class="gone"' not in drawn("html", whole)
    assert "members away, not seen" not in drawn("html", whole)
    odd = replace(whole, batches=(replace(whole.batches[0], health_away='"><script>', health="<b>"),))
    assert [tag in drawn("html", odd) for tag in ("<script>", "<b>")] == [False, False]


@pytest.mark.parametrize(("form", "shown"), [("md", "| deployed | {} |"), ("html", ". Deployed: {}.")])
def test_the_deployed_version_is_told_with_the_one_on_the_way(form: str, shown: str) -> None:
    going = replace(record(*TWO, phase=Phase.UPGRADING), deployed_version="2.19.6")
    assert shown.format("2.19.6, on the way to 3.8.0") in drawn(form, going)
    assert shown.format("3.8.0") in drawn(form, replace(going, deployed_version="3.8.0"))
    assert "eployed" not in drawn(form, record(*TWO))


def test_markdown_tells_them_too() -> None:
    page = drawn("md", seen())
    assert "| batch-2 | data-2 | done | 20 | 4.0 | yellow | red | 13 |" in page
    assert "- persistent a.b: changed 2 times, put back 1 time" in page
    assert "- image of pool data: changed 1 time, stays" in page
    assert "| seconds from begin to end | 600 | 900 |" in page


@pytest.mark.parametrize(
    ("form", "shown"), [("html", "data-2: {}, {:.1f} s"), ("md", "| batch-2 | data-2 | {} | {:.0f} |")]
)
def test_a_repeated_batch_is_one_of_the_batches_and_shows_each_try(form: str, shown: str) -> None:
    stopped = batch(1, "02:00:11", "02:00:16", state="failed")
    again = replace(TWO[1], tries=(replace(stopped, members=("data-2",)),))
    page = drawn(form, record(TWO[0], again))
    assert shown.format("stopped, try 1 of 2", 5) in page
    assert shown.format("done, try 2 of 2", 20) in page
    assert "2 batches" in page
    assert "1 begun by several runs" in page
    # A bar and two phases of each try are in one row, with one label.
    assert (page.count('y="25"'), page.count(">data-2</text>")) == ((6, 1) if form == "html" else (0, 0))
    assert page.count('class="failed"') == (1 if form == "html" else 0)
    assert "several runs" not in drawn(form, record(*TWO))


@pytest.mark.parametrize(
    ("form", "shown"), [("html", "<td>Ended</td><td>in progress</td>"), ("md", "- Ended: in progress")]
)
def test_the_conditions_stand_in_every_report(form: str, shown: str) -> None:
    whole = replace(record(*TWO, phase=Phase.UPGRADING), reason="It is <red>.")
    page = drawn(form, replace(whole, conditions=conditions_of(whole)))
    assert shown in page
    assert ("It is &lt;red&gt;." if form == "html" else "It is <red>.") in page
    assert "Ended" not in drawn(form, whole)


@pytest.mark.parametrize(("form", "shown"), [("html", "<td>a&lt;b</td>"), ("md", "| data-2 | a<b | c |")])
def test_images_stand_in_every_report_where_a_system_names_them(form: str, shown: str) -> None:
    assert "Images" not in drawn(form, record(*TWO))
    assert shown in drawn(form, record(TWO[0], replace(TWO[1], images=(ImageRecord("data-2", "a<b", "c"),))))


@pytest.mark.parametrize("form", ["html", "md"])
def test_checks_that_were_not_made_stand_in_every_report(form: str) -> None:
    assert "hecks that were not made" not in drawn(form, record(*TWO))
    checks = [happened(EventKind.SKIPPED, AT, "r1", name, by="<ops>") for name in ("disk", "images")]
    given = record(*TWO).with_events(*checks, happened(EventKind.ACCEPTED, AT, "r2", "allow_red", "logs-*", "you"))
    assert report_of(given).skipped == ("disk", "images")
    page = drawn(form, given)
    assert "disk, images" in page
    shown = [line for line in page.splitlines() if "allow_red" in line or "disk skipped" in line]
    assert shown == (
        [
            f'<tr><td class="quiet">{AT}</td><td>check disk skipped</td><td>&lt;ops&gt;</td><td>r1</td></tr>',
            f'<tr><td class="quiet">{AT}</td><td>risk accepted with allow_red: logs-*</td><td>you</td><td>r2</td></tr>',
        ]
        if form == "html"
        else [
            f"- {AT} check disk skipped, by <ops> in run r1",
            f"- {AT} risk accepted with allow_red: logs-*, by you in run r2",
        ]
    )
