"""Each state is sent to the webhook once, a webhook that does not answer stops nothing, and the URL is never shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import name_for
from ansible_collections.stateful.upgrade.plugins.module_utils.run.output import upgrade_notice
from ansible_collections.stateful.upgrade.plugins.module_utils.run.output.notices import notice_key
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import begun
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_files import Files
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.size import record_text
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.recorded_start import Start
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import batch_of, record_of
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_scheduling import PLAN

from tests.sandbox.clock import Clock
from tests.sandbox.webhook import Webhook, webhook

Json = dict[str, Any]
SECRET = "Never-Told-4711"


@pytest.fixture
def hook() -> Iterator[Webhook]:
    with webhook() as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the record of an upgrade."""
    record = begun(None, PLAN, "night", "ops", "2026-11-21T02:00:00Z")
    assert record is not None
    Files(tmp_path).write(name_for("uuid"), record_text(record, 100_000), "", None)
    return tmp_path


def tell(
    url: str,
    folder: Path,
    state: str = "started",
    check_mode: bool = False,
    said: list[str] | None = None,
    **given: Any,
) -> Json:
    own = {"record_kept_in": "file", "record_path": str(folder), "plan": PLAN}
    params = upgrade_notice.CONTRACT.arguments({**own, **given}, url=url, state=state)
    voice = Lines((said if said is not None else []).append)
    return perform(upgrade_notice.run, Task(params=params, check_mode=check_mode, clock=Clock(), voice=voice))


def away(monkeypatch: pytest.MonkeyPatch, method: str, times: int) -> None:
    """The place of the records gives no answer so many times."""
    done, left = getattr(Files, method), [None] * times

    def answered(*asked: Any) -> Any:
        if left:
            left.pop()
            raise Unreachable.because("kubernetes_unreachable", "The API gives no answer.", "Wait.")
        return done(*asked)

    monkeypatch.setattr(Files, method, answered)


@pytest.mark.parametrize("method", ["read", "write"])
def test_a_record_that_is_out_of_reach_for_a_while_is_waited_for(
    hook: Webhook, folder: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    away(monkeypatch, method, 3)
    for _again in range(2):
        assert codes(tell(f"{hook.url}/200", folder, "failed")) == []
    assert hook.states == ["failed"]


def test_an_end_is_told_without_a_record_and_a_wait_is_left_to_the_next_pass(
    hook: Webhook, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away(monkeypatch, "read", 1000)
    assert codes(tell(f"{hook.url}/200", folder, "failed")) == []
    assert codes(tell(f"{hook.url}/200", folder, "waiting")) == ["notice_not_sent"]
    assert hook.states == ["failed"]


@pytest.mark.parametrize("state", ["failed", "waiting"])
def test_a_broken_record_stops_no_notice(hook: Webhook, folder: Path, state: str) -> None:
    (path,) = folder.glob("*.json")
    path.write_text("{")
    assert codes(tell(f"{hook.url}/200", folder, state)) == []
    assert hook.states == [state]


def test_a_notice_that_is_sent_and_not_noted_is_not_called_unsent(
    hook: Webhook, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away(monkeypatch, "write", 1000)
    told = tell(f"{hook.url}/200", folder, "failed")
    assert (codes(told), told["changed"], hook.states) == (["notice_not_noted"], True, ["failed"])


@pytest.mark.parametrize("broken", [True, False])
def test_a_wait_leaves_the_metrics_as_they_are_if_the_record_cannot_be_read(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    metrics = tmp_path_factory.mktemp("metrics")

    def waits() -> str:
        tell("", folder, "waiting", metrics_path=str(metrics), codes=["starts_later"])
        (written,) = metrics.iterdir()
        return written.read_text()

    before = waits()
    assert 'phase="Pending"' in before
    if broken:
        next(folder.glob("*.json")).write_text("{")
    else:
        away(monkeypatch, "find", 1000)
    assert waits() == before


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def test_a_state_is_told_once_and_again_with_other_reasons(hook: Webhook, folder: Path) -> None:
    assert tell(f"{hook.url}/200", folder, check_mode=True)["changed"]
    assert hook.got == []
    first = tell(f"{hook.url}/200", folder)
    again = tell(f"{hook.url}/200", folder, cause="In other words.")
    assert (first["changed"], again["changed"], first["key"]) == (True, False, again["key"])
    tell(f"{hook.url}/204", folder, "paused", codes=["window_closed"], cause="The window is over.")
    tell(f"{hook.url}/204", folder, "paused", codes=["request_changed"])
    assert (hook.keys[0], hook.states) == (first["key"], ["started", "paused", "paused"])
    assert hook.got[1]["text"] == "The upgrade of cluster to 3.8.0 is paused: The window is over."


@pytest.mark.parametrize(
    ("state", "deed", "said"),
    [
        ("completed", "restart", "The restart of cluster is completed."),
        ("scale_skipped", "upgrade", "The upgrade of cluster to 3.8.0 continues without additional capacity."),
    ],
)
def test_the_sentence_names_the_work_and_has_words_for_its_state(
    hook: Webhook, folder: Path, state: str, deed: str, said: str
) -> None:
    tell(f"{hook.url}/200", folder, state, plan={**PLAN, "deed": deed})
    assert [(each["text"], each["deed"]) for each in hook.got] == [(said, deed)]


@pytest.mark.parametrize(("state", "same"), [("started", True), ("paused", False)])
def test_an_upgrade_that_waits_for_a_further_window_does_not_start_once_more(state: str, same: bool) -> None:
    # Found by random upgrade 3018 of OpenShift.
    windows = (None, Start("t1", "t2", "pause"), Start("t3", "t4", "pause"))
    keys = {notice_key(state, (), record_of(batch_of("a"), start=each)) for each in windows}
    assert len(keys) == (1 if same else 3)


def test_a_refusal_of_another_target_is_sent_although_that_of_the_first_was(hook: Webhook, folder: Path) -> None:
    for version in ("4.0.0", "4.0.0", "4.1.0", PLAN["target_version"], PLAN["target_version"]):
        tell(f"{hook.url}/200", folder, "refused", codes=["unhealthy"], plan={**PLAN, "target_version": version})
    assert hook.states == ["refused"] * 3


def test_a_second_point_to_approve_is_told_as_the_first_was(hook: Webhook, folder: Path) -> None:
    """So is a second failure of the same kind. While nothing has advanced, and for passes, each is told once."""
    files = Files(folder)
    told = [("paused", ["approval_missing"]), ("failed", ["timed_out"]), ("started", []), ("paused", ["moving"])]
    for done in range(2):
        for state, codes in (*told, *told):
            tell(f"{hook.url}/200", folder, state, codes=codes)
        kept = files.read(name_for("uuid"))
        assert kept is not None
        record = kept.record()
        batches = tuple(replace(each, state="done") for each in record.batches)
        files.write(name_for("uuid"), record_text(replace(record, batches=batches), 100_000), "", kept)
        assert hook.states == ["paused", "failed", "started", "paused", "paused", "failed"][: 4 + 2 * done]


def test_without_a_record_each_is_told_and_a_body_of_the_user_is_sent_as_it_is(hook: Webhook, tmp_path: Path) -> None:
    for _time in range(2):
        tell(f"{hook.url}/200", tmp_path, body={"text": "Mine."})
    assert hook.got == [{"text": "Mine."}] * 2


@pytest.mark.parametrize("status", ["404", "302", "500"])
def test_a_notice_that_nobody_takes_is_a_remark_and_is_sent_again(hook: Webhook, folder: Path, status: str) -> None:
    result = tell(f"{hook.url}/{status}/{SECRET}", folder)
    assert (result["verdict"]["state"], codes(result), result["changed"]) == ("passed", ["notice_not_sent"], False)
    assert SECRET not in json.dumps({**result, "invocation": {}})
    assert tell(f"{hook.url}/200", folder)["changed"]


def test_nobody_there_is_a_remark_and_no_url_is_refused(folder: Path) -> None:
    nobody = tell(f"http://127.0.0.1:9/{SECRET}", folder)
    assert (codes(nobody), SECRET in json.dumps(nobody)) == (["notice_not_sent"], False)
    for url in (f"chat.example.com/{SECRET}", f"https://[chat/{SECRET}", f"https://chat:https/{SECRET}"):
        said = list[str]()
        wrong = tell(url, folder, said=said)
        assert (codes(wrong), SECRET in json.dumps([wrong, said])) == (["webhook_unusable"], False)
        assert said[0].startswith("The notice was not sent. The URL of the webhook is not an HTTP URL.")
