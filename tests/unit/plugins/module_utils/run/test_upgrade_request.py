"""The request in each of its places: read, read again, gone, and its state next to it."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start import upgrade_request
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.request import Requested
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.answering import answering
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import Passing

from tests.sandbox.kubernetes.in_process import InProcess

Json = dict[str, Any]
DOCUMENT = "type: opensearch\ntarget_version: 3.8.0\n"
CONFIG_MAP = "/api/v1/namespaces/search/configmaps/next"
STATE = "upgrade.stateful/request-state"


def ask(source: str, check_mode: bool = False, **given: Any) -> Json:
    spec = upgrade_request.CONTRACT.arguments({"kubernetes": {}, "wait_sleep": 1.0}, source=source, **given)
    return perform(upgrade_request.run, Task(params=spec, check_mode=check_mode, clock=Passing()))


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> InProcess:
    found = InProcess()
    monkeypatch.setattr(upgrade_request, "connect", lambda _options: found.client())
    body = {"metadata": {"name": "next"}, "data": {"request.yml": DOCUMENT}}
    found.client().post("/api/v1/namespaces/search/configmaps", body)
    return found


def test_a_file_is_read_and_its_state_stands_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "request.yml"
    assert codes(ask(str(path))) == ["request_missing"]
    path.write_text(DOCUMENT)
    read = ask(str(path))["request"]
    assert read["variables"] == {"target_version": "3.8.0"}
    assert ask(str(path), expected=read["digest"])["verdict"]["state"] == "passed"
    path.write_text(DOCUMENT + "upgrade_window: 5\n")
    changed = ask(str(path), expected=read["digest"])
    assert (codes(changed), changed["verdict"]["state"]) == (["request_changed"], "waiting")
    checked = ask(str(path), True, state="noted", request_state="started")
    assert (checked["changed"], list(tmp_path.iterdir())) == (False, [path])
    noted = ask(str(path), state="noted", request_state="paused", cause="The window is over.")
    assert (noted["changed"], noted["actions"][0]["state"]) == (True, "paused")
    beside = json.loads((tmp_path / "request.yml.state.json").read_text())
    assert (beside["state"], beside["message"]) == ("paused", "The window is over.")
    path.unlink()
    gone = ask(str(path), expected=read["digest"])
    assert (codes(gone), gone["request"]) == (["request_withdrawn"], {})


def test_a_file_that_cannot_be_read_is_refused_and_a_folder_that_takes_no_note_is_no_failure(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    assert codes(ask(str(folder))) == ["request_unreadable"]
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    assert "it is no text in UTF-8" in ask(str(tmp_path / "bytes"))["msg"]
    noted = ask(str(tmp_path / "missing" / "request.yml"), state="noted", request_state="started")
    assert (noted["changed"], noted["verdict"]["state"]) == (False, "passed")
    unknown = ask("~no-user-of-this-name/request.yml")
    assert (codes(unknown), "not known which home" in unknown["msg"]) == (["request_unusable"], True)
    (folder / "request.yml").write_text(DOCUMENT)
    assert stat.S_ISREG((folder / "request.yml").stat().st_mode)


def test_a_config_map_is_read_and_its_state_is_an_annotation(api: InProcess) -> None:
    assert ask("configmap/next", namespace="search")["request"]["type"] == "opensearch"
    assert codes(ask("configmap/other", namespace="search")) == ["request_missing"]
    assert codes(ask("configmap/next")) == ["request_unusable"]
    assert ask("configmap/next", namespace="search", state="noted", request_state="started")["changed"]
    found = api.objects[CONFIG_MAP]
    assert json.loads(found["metadata"]["annotations"][STATE])["state"] == "started"
    assert found["data"] == {"request.yml": DOCUMENT}
    api.client().patch(CONFIG_MAP, {"data": {"request.yml": None, "other": "x"}}, "merge")
    assert "has no key request.yml" in ask("configmap/next", namespace="search")["msg"]


def test_a_state_that_cannot_be_noted_is_a_remark(api: InProcess) -> None:
    result = ask("configmap/other", namespace="search", state="noted", request_state="started")
    assert (result["verdict"]["state"], codes(result), result["changed"]) == ("passed", ["request_not_noted"], False)


@pytest.mark.parametrize(
    ("page", "code"),
    [("200", "request_unprotected"), ("404", "request_missing"), ("410", "request_missing")]
    + [(status, "request_unreadable") for status in ("401", "403", "302")]
    + [(status, "request_unreachable") for status in ("429", "500", "503")],
)
def test_a_url_is_read_and_every_answer_has_its_meaning(page: str, code: str) -> None:
    with answering() as server:
        server.say(int(page), DOCUMENT, Location="/elsewhere")
        result = ask(f"{server.url}/request.yml?key=Never-Told", wait=False)
    assert codes(result) == [code]
    assert "Never-Told" not in json.dumps({**result, "invocation": {}})
    assert ("request" in result) == (page == "200")
    assert {path for _method, path, *_more in server.asked} == {"/request.yml?key=Never-Told"}


def test_a_url_of_which_the_page_has_gone_was_withdrawn_and_takes_no_note() -> None:
    with answering() as server:
        server.say(404, "")
        assert codes(ask(server.url, expected="d")) == ["request_withdrawn"]
        assert ask(server.url, state="noted", request_state="started")["changed"] is False
    assert [method for method, *_more in server.asked] == ["GET"]


def test_a_url_with_a_login_is_refused_and_nobody_there_is_waited_for() -> None:
    result = ask("https://me:Never-Told@127.0.0.1/x")
    assert (codes(result), "Never-Told" in result["msg"]) == (["request_unusable"], False)
    nobody = ask("http://127.0.0.1:9/x", wait=False)["verdict"]["reasons"][0]
    assert (nobody["state"], nobody["code"]) == ("waiting", "request_unreachable")


def test_a_url_that_cannot_be_read_is_refused_and_not_shown() -> None:
    result = ask("https://me:Never-Told@[::1/next.yml")
    assert (codes(result), "Never-Told" in result["msg"]) == (["request_unusable"], False)


def test_a_request_that_cannot_be_read_before_a_batch_pauses_the_upgrade(tmp_path: Path) -> None:
    """Its server is away, or someone is just writing it. At its start the run would be refused."""
    path = tmp_path / "request.yml"
    path.write_text("- half\n")

    def standing(source: str) -> tuple[str, list[str]]:
        given = {"kubernetes": {}, "wait_sleep": 1.0, "wait_timeout": 3}
        task = Task(params=upgrade_request.CONTRACT.arguments(given, source=source), clock=Passing())
        verdict = upgrade_request.unchanged(task, Requested(source, "d"))
        return verdict.state.value, [each.code for each in verdict.reasons]

    assert standing(str(path)) == ("waiting", ["request_unreadable"])
    assert standing("http://127.0.0.1:9/x") == ("waiting", ["request_unreachable"])
