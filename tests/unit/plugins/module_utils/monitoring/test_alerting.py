"""Selectors, alerts and silences are judged as they are written."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring import alert_silence
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring.alert_silence import judge_lost
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring.alerts import (
    alert_with,
    ignored_in,
    judge_alerts,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring.prometheus import firing, value
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring.selectors import (
    Selector,
    parse_selector,
    selectors_in,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring.server import Server
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring.silences import (
    OVER,
    Silence,
    comment_of,
    creator_of,
    is_due,
    lost,
    parse_silence,
    steps_to,
)
from ansible_collections.stateful.upgrade.plugins.plugin_utils.monitoring_inputs import faults_of_monitoring
from ansible_collections.stateful.upgrade.tests.sandbox.clock import Clock
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.answering import answering
from hypothesis import given
from hypothesis import strategies as st

NOW = datetime(2026, 12, 1, 12, tzinfo=timezone.utc)
SERVER: dict[str, Any] = {
    "username": None,
    "password": None,
    "token": None,
    "ca_cert": None,
    "validate_certs": True,
    "request_timeout": 5,
}


@pytest.mark.parametrize(
    ("text", "labels", "fits"),
    [
        ('severity="critical"', {"severity": "critical"}, True),
        ('{severity="critical"}', {"severity": "warning"}, False),
        ('a="x", b!="y"', {"a": "x"}, True),
        ('a="x",b!="y"', {"a": "x", "b": "y"}, False),
        ('a=~"x|y"', {"a": "xy"}, False),
        ('a=~"x.*",b!~"y|z"', {"a": "xx", "b": "zz"}, True),
        ('a="say \\"x\\", y"', {"a": 'say "x", y'}, True),
    ],
)
def test_a_selector_fits_as_promql_does(text: str, labels: dict[str, str], fits: bool) -> None:
    assert parse_selector(text).fits(labels) is fits
    assert parse_selector(parse_selector(text).text) == parse_selector(text)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("severity=critical", "values in double quotes"),
        ('a="x" b="y"', "values in double quotes"),
        ('a="x",,', "values in double quotes"),
        ('1a="x"', "values in double quotes"),
        ('a=~"("', "no regular expression"),
        ('a="\\d"', "a backslash is written twice"),
        ("", "nearly all"),
        ('a!="x"', "nearly all"),
        ('a=~".*"', "nearly all"),
    ],
)
def test_a_selector_that_is_none_or_fits_everything_is_refused(text: str, cause: str) -> None:
    with pytest.raises(Refusal, match=cause):
        selectors_in(['a="good"', text], "silences")


def test_an_alert_is_ignored_until_its_day() -> None:
    alert = alert_with({"__name__": "ALERTS", "alertstate": "firing", "alertname": "Full", "disk": "a"})
    entry = {"alerts": 'alertname="Full"', "reason": "It is grown.", "owner": "storage", "until": "2026-12-01"}
    ignored = ignored_in([entry], "ignored")
    assert judge_alerts([alert], ignored, [], date(2026, 12, 1)).passed
    after = judge_alerts([alert], ignored, [], date(2026, 12, 2))
    assert [each.message for each in after.reasons] == [
        "The alert Full (disk=a) fires. It was ignored until 2026-12-01 (storage)."
    ]
    assert judge_alerts([alert], [], [alert], date(2026, 12, 2)).passed
    for wrong in ({**entry, "until": "soon"}, {**entry, "alerts": "Full"}):
        with pytest.raises(Refusal, match="cannot be used"):
            ignored_in([wrong], "ignored")


def silence(number: int, text: str, comment: str = "", ends: datetime = NOW) -> Silence:
    return Silence(str(number), parse_selector(text), creator_of("lock"), comment, f"{number}", ends, "active")


TEXTS = ['a="x"', 'b="y",a="x"', 'a="x",b="y"', 'c=~"z"']


@given(st.lists(st.sampled_from(TEXTS), max_size=4), st.lists(st.sampled_from(TEXTS), max_size=4))
def test_whatever_is_held_one_silence_of_each_wanted_selector_is_left(wanted: list[str], held: list[str]) -> None:
    selectors = [parse_selector(each) for each in wanted]
    found = [silence(number, text) for number, text in enumerate(held)]
    steps = steps_to(selectors, found)
    left = [*steps.made, *(each.selector for each in steps.kept)]
    assert sorted(map(_key, left)) == sorted({_key(each) for each in selectors})
    assert {each.id for each in (*steps.kept, *steps.ended)} == {each.id for each in found}
    again = steps_to(selectors, [silence(number, each.text) for number, each in enumerate(left)])
    assert (again.made, again.ended) == ((), ())


def _key(selector: Selector) -> str:
    return ",".join(sorted(each.text for each in selector.matchers))


def test_a_silence_is_renewed_after_a_third_of_its_time_and_by_another_run_at_once() -> None:
    duration = timedelta(seconds=900)
    kept = silence(1, 'a="x"', comment_of("night"), NOW + timedelta(seconds=601))
    assert not is_due(kept, comment_of("night"), NOW, duration)
    assert is_due(kept, comment_of("night"), NOW + timedelta(seconds=2), duration)
    assert is_due(kept, comment_of("day"), NOW, duration)


def test_a_silence_that_was_over_before_its_run_is_named_once_and_not_one_that_has_a_successor() -> None:
    wanted = [parse_selector(each) for each in ('a="x"', 'c=~"z"')]

    def over(number: int, text: str, run: str, minutes: int, last_for: int = 0) -> Silence:
        ends = NOW + timedelta(minutes=minutes)
        there = silence(number, text, comment_of(run), ends)
        return replace(there, state=OVER, updated=ends - timedelta(seconds=last_for))

    others = [over(1, 'a="x"', "day", 3), over(2, 'b="y"', "night", 3)]
    known = [over(4, 'a="x"', "night", 2), over(3, 'a="x"', "night", 1), *others]
    assert [each.id for each in lost([*known, silence(5, 'c=~"z"', comment_of("night"))], "night", wanted)] == ["4"]
    assert lost([*known, silence(5, 'a="x"', comment_of("night"))], "night", wanted) == []
    by_hand, run_out = over(1, 'a="x"', "night", 1), over(2, 'c=~"z"', "night", 1, last_for=900)
    said = [reason.message for reason in judge_lost(lost([by_hand, run_out], "night", wanted)).reasons]
    assert [each.rpartition(": ")[2] for each in said] == ["someone ended it.", "it was no longer renewed."]
    assert 'The silence a="x" ended at 2026-12-01T12:01:00Z' in said[0]


def test_the_end_of_a_run_names_the_silences_that_somebody_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = {
        "id": "1",
        "matchers": [{"name": "a", "value": "x"}],
        "createdBy": creator_of("lock"),
        "comment": comment_of("night"),
        "startsAt": "2026-12-01T12:00:00.000Z",
        "endsAt": "2026-12-01T12:10:00.123Z",
        "updatedAt": "2026-12-01T12:10:00.123Z",
        "status": {"state": "expired"},
    }
    asked: list[str] = []

    def get(_server: Server, path: str) -> list[Any]:
        asked.append(path)
        return [raw]

    monkeypatch.setattr(Server, "get", get)
    given = {**SERVER, "url": "https://alerts:9093", "silence_duration": 900}
    lock = {"name": "lock", "run": "night"}
    own = {"alertmanager": given, "lock": lock, "state": "absent", "silences": ['a="x"'], "wait": False}
    result = perform(alert_silence.run, Task(params=alert_silence.CONTRACT.arguments({}, **own)))
    assert ([each["code"] for each in result["verdict"]["reasons"]], result["changed"]) == (["silence_lost"], False)
    assert asked == ["/api/v2/silences"]


def test_a_silence_that_the_run_itself_has_ended_is_not_said_to_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    outages = ["after", "before"]

    def active(number: int, name: str) -> dict[str, Any]:
        return {
            "id": str(number),
            "matchers": [{"name": name, "value": "x"}],
            "createdBy": creator_of("lock"),
            "comment": comment_of("night"),
            "startsAt": "2026-12-01T12:00:00.000Z",
            "endsAt": "2026-12-01T12:15:00.000Z",
            "updatedAt": "2026-12-01T12:00:00.000Z",
            "status": {"state": "active"},
        }

    there = {str(number): active(number, name) for number, name in enumerate("abc")}

    def delete(_server: Server, path: str) -> None:
        away = outages.pop(0) if outages else ""
        if away != "before":
            now = "2026-12-01T12:05:00.000Z"
            there[path[-1]].update(status={"state": OVER}, endsAt=now, updatedAt=now)
        if away:
            raise Unreachable.because("alertmanager_unreachable", "The Alertmanager does not answer.", "Look.")

    monkeypatch.setattr(Server, "get", lambda *_asked: list(there.values()))
    monkeypatch.setattr(Server, "delete", delete)
    given = {**SERVER, "url": "https://alerts:9093", "silence_duration": 900}
    own = {"alertmanager": given, "lock": {"name": "lock", "run": "night"}, "state": "absent"}
    params = alert_silence.CONTRACT.arguments({}, **own, silences=[f'{name}="x"' for name in "abc"])
    result = perform(alert_silence.run, Task(params=params, clock=Clock()))
    assert (result["verdict"], result["changed"]) == ({"state": "passed", "reasons": []}, True)
    assert {each["status"]["state"] for each in there.values()} == {OVER}


def test_a_silence_whose_answer_was_lost_is_made_once_and_an_outage_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []
    outages = ["before", "after"]

    def post(_server: Server, _path: str, content: dict[str, Any]) -> Any:
        away = outages.pop(0) if outages else ""
        if away != "before":
            raw = {**content, "id": str(len(made)), "status": {"state": "active"}, "updatedAt": content["startsAt"]}
            made.append(raw)
        if away:
            raise Unreachable.because("alertmanager_unreachable", "The Alertmanager does not answer.", "Look.")
        return {"silenceID": made[-1]["id"]}

    monkeypatch.setattr(Server, "get", lambda *_asked: made)
    monkeypatch.setattr(Server, "post", post)
    given = {**SERVER, "url": "https://alerts:9093", "silence_duration": 900}
    own = {"alertmanager": given, "lock": {"name": "lock", "run": "night"}, "state": "present"}
    params = alert_silence.CONTRACT.arguments({}, **own, silences=['a="x"', 'b="y"'])
    result = perform(alert_silence.run, Task(params=params, clock=Clock()))
    assert (result["verdict"]["state"], result["changed"]) == ("passed", True)
    assert [each["matchers"][0]["name"] for each in made] == ["a", "b"]


@pytest.mark.parametrize("ends", ["2026-12-01T12:00:00.12345Z", "2026-12-01T12:00:00Z", "2026-12-01T13:00:00.5+01:00"])
def test_the_moments_of_an_alertmanager_are_read(ends: str) -> None:
    raw = {"id": "1", "matchers": [], "startsAt": ends, "endsAt": ends, "status": {"state": "active"}}
    assert parse_silence(raw).ends == NOW


@pytest.mark.parametrize(
    "url",
    [
        *("prometheus:9090", "https://me:secret@host", "https://host/?x=1", "ftp://host"),
        *("http://[::1:9090", "https://host:99999", "https://host:secret/x"),
    ],
)
def test_an_address_that_is_no_plain_url_is_refused(url: str) -> None:
    with pytest.raises(Refusal, match="is not a plain HTTP URL") as error:
        Server("prometheus", {**SERVER, "url": url})
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("status", "content", "code"),
    [
        (503, "busy", "monitoring_unreachable"),
        (429, "", "monitoring_unreachable"),
        (401, "", "monitoring_refuses"),
        (302, "", "monitoring_refuses"),
        (200, "<html>", "monitoring_not_understood"),
    ],
)
def test_an_answer_that_is_none_is_told_by_its_cause(status: int, content: str, code: str) -> None:
    with answering() as api:
        api.say(status, content)
        with pytest.raises(Refusal) as error:
            Server("prometheus", {**SERVER, "url": api.url, "token": "Never-Told"}).get("/api/v1/query")
    assert [each.code for each in error.value.verdict.reasons] == [code]
    assert "Never-Told" not in str(error.value)
    assert api.asked[0][2]["Authorization"] == "Bearer Never-Told"


def test_variables_without_a_server_and_selectors_that_are_none_are_told_at_once() -> None:
    found = [*faults_of_monitoring({"upgrade_silences": ["x"], "upgrade_alerts": ['a="x"']})]
    assert [each.partition(" ")[0] for each in found] == ["upgrade_alerts", "upgrade_silences", "x"]
    given = {"upgrade_prometheus_url": "http://a", "upgrade_alerts": ['a="x"'], "upgrade_watchdog": "W"}
    assert [*faults_of_monitoring(given)] == []
    entry = {"alerts": "a", "reason": "b", "owner": "c", "until": "2026-01-01"}
    assert len([*faults_of_monitoring({**given, "upgrade_alerts_ignored": [entry]})]) == 1


@pytest.mark.parametrize(
    ("warnings", "whole"),
    [
        ([], True),
        (["PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket"], True),
        (["PromQL warning: quantile value should be between 0 and 1", "store 10.0.0.7 gave no answer"], False),
    ],
)
def test_neither_alerts_nor_a_value_are_taken_from_an_answer_that_lacks_a_part(
    monkeypatch: pytest.MonkeyPatch, warnings: list[str], whole: bool
) -> None:
    sample = {"metric": {"alertname": "Full"}, "value": [1, "3"]}
    answer = {"status": "success", "data": {"resultType": "vector", "result": [sample]}, "warnings": warnings}
    monkeypatch.setattr(Server, "get", lambda *_asked: answer)
    server = Server("prometheus", {**SERVER, "url": "https://prometheus:9090"})
    if whole:
        assert (value(server, "sum(errors)"), len(firing(server, [parse_selector('a="x"')]))) == (3.0, 1)
        return
    for ask in (lambda: value(server, "sum(errors)"), lambda: firing(server, [parse_selector('a="x"')])):
        with pytest.raises(Unreachable, match=r"is incomplete \(store 10.0.0.7 gave no answer\)"):
            ask()
