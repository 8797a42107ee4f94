"""The licence of a cluster is read and changed by its API, once, and nothing of it is shown but its type."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import (
    Refusal,
    Unreachable,
    refusal,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import OpenSearchClient
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.act.licence import bring_licence
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.licences import (
    HeldLicence,
    Licence,
    judge_wanted_licence,
    wanted_licence,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.licence_plan import (
    licence_of,
    protection_settings,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import Passing

Json = dict[str, Any]
GOLD: Json = {"uid": "gold-1", "type": "gold", "signature": "hunter2", "issued_to": "hunter3"}


@dataclass
class Elasticsearch:
    """The licences of a cluster: its answers are those of the guide, Licensing APIs."""

    held: Json = field(default_factory=lambda: {"type": "basic", "uid": "basic-1"})
    trial_is_left: bool = True
    valid: bool = True
    lost: bool = False
    """Whether the answer to the next change is lost."""
    settings: Json = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def get(self, path: str, **params: Any) -> Json:
        self.asked.append(("GET", path))
        if path == "/_license/trial_status":
            return {"eligible_to_start_trial": self.trial_is_left}
        return {"license": dict(self.held)} if path == "/_license" else self.settings

    def post(self, path: str, body: Json | None = None, **params: Any) -> Json:
        assert params == {"acknowledge": "true"}
        kind = path.rpartition("_")[2]
        return self._changed("POST", path, {"type": kind, "uid": f"{kind}-1"}, {f"{kind}_was_started": True})

    def put(self, path: str, body: Json, **params: Any) -> Json:
        assert params == {"acknowledge": "true"}
        if not self.valid:
            return {"acknowledged": True, "license_status": "expired"}
        return self._changed("PUT", path, body["licenses"][0], {"license_status": "valid"})

    def _changed(self, method: str, path: str, held: Json, answer: Json) -> Json:
        self.asked.append((method, path))
        self.held = held
        if self.lost:
            self.lost = False
            raise Unreachable.because("opensearch_unavailable", "The answer is lost.", "It passes.")
        return {"acknowledged": True, **answer}

    def bring(self, given: Any, **task: Any) -> tuple[bool, str]:
        """Whether the licence was changed, and the journal."""
        made = Task({"wait": True, "wait_timeout": 60, "wait_sleep": 1.0}, clock=Passing(), **task)
        changed = bring_licence(made, cast(OpenSearchClient, self), wanted_licence(given))
        return changed, json.dumps(made.journal.as_result())

    def changes(self) -> list[tuple[str, str]]:
        return [each for each in self.asked if each[0] != "GET"]


@pytest.mark.parametrize(
    ("given", "change"),
    [
        ("trial", ("POST", "/_license/start_trial")),
        (GOLD, ("PUT", "/_license")),
        ({"license": {**GOLD, "type": "platinum"}}, ("PUT", "/_license")),
        ({"licenses": [GOLD]}, ("PUT", "/_license")),
    ],
)
def test_a_licence_is_brought_once(given: Any, change: tuple[str, str]) -> None:
    servers = Elasticsearch()
    changed, journal = servers.bring(given)
    assert changed
    assert "hunter" not in journal
    assert servers.bring(given) == (False, "[]")
    assert servers.changes() == [change]
    assert servers.bring("basic")[0]
    assert servers.changes()[1:] == [("POST", "/_license/start_basic")]


def test_a_lost_answer_is_looked_for_and_nothing_is_done_twice() -> None:
    servers = Elasticsearch(lost=True)
    assert servers.bring("trial")[0]
    assert servers.changes() == [("POST", "/_license/start_trial")]


class Repeating(Elasticsearch):
    """The package repeats a request whose answer was lost, and the servers start no licence that they have."""

    def post(self, path: str, body: Json | None = None, **params: Any) -> Json:
        super().post(path, body, **params)
        raise refusal(
            "opensearch_rights", f"Elasticsearch does not allow POST {path}: Trial was already activated.", ""
        )


def test_a_licence_that_a_repeated_request_has_brought_is_there() -> None:
    servers = Repeating()
    changed, journal = servers.bring("trial")
    assert changed
    assert [each["answer"] for each in json.loads(journal)] == ["lost"]


def test_a_licence_that_the_servers_refuse_is_refused_in_their_words() -> None:
    class Refusing(Repeating):
        def _changed(self, method: str, path: str, held: Json, answer: Json) -> Json:
            return answer

    with pytest.raises(Refusal, match="does not allow POST /_license/start_trial"):
        Refusing().bring("trial")


def test_a_licence_that_is_not_taken_is_named_by_its_status() -> None:
    with pytest.raises(Refusal) as refused:
        Elasticsearch(valid=False).bring(GOLD)
    (reason,) = refused.value.verdict.reasons
    assert (reason.code, "expired" in reason.message, "hunter" in str(reason)) == ("licence_not_taken", True, False)


def test_check_mode_changes_nothing() -> None:
    servers = Elasticsearch()
    changed, journal = servers.bring("trial", check_mode=True)
    assert changed
    assert "changed_licence" in journal
    assert servers.changes() == []


def test_another_licence_of_the_same_type_is_another_one() -> None:
    servers = Elasticsearch(held={**GOLD, "uid": "gold-0"})
    assert servers.bring(GOLD)[0]


@pytest.mark.parametrize(
    "given", ["", 3, [], {}, {"type": "gold"}, {**GOLD, "type": "diamond"}, {"license": "hunter2"}]
)
def test_a_licence_that_is_none_is_refused_without_its_content(given: Any) -> None:
    with pytest.raises(Refusal) as refused:
        wanted_licence(given)
    assert [each.code for each in refused.value.verdict.reasons] == ["licence_unreadable"]
    assert "hunter" not in str(refused.value)


def test_an_issued_licence_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "licence.json"
    file.write_text(json.dumps({"license": GOLD}), encoding="utf-8")
    found = licence_of({"licence": str(file)})
    assert found is not None
    assert (found.type, "hunter" in repr(found)) == (Licence.GOLD, False)
    assert licence_of({"licence": None}) is None
    for wrong in (str(tmp_path / "none.json"), str(tmp_path)):
        with pytest.raises(Refusal):
            licence_of({"licence": wrong})


@pytest.mark.parametrize(
    ("given", "held", "refused"),
    [
        ("trial", HeldLicence(Licence.BASIC), False),
        ("trial", HeldLicence(Licence.BASIC, trial_is_left=False), True),
        ("trial", HeldLicence(Licence.TRIAL, trial_is_left=False), False),
        ("basic", HeldLicence(Licence.GOLD, trial_is_left=False), False),
    ],
)
def test_a_trial_is_had_once(given: str, held: HeldLicence, refused: bool) -> None:
    assert judge_wanted_licence(wanted_licence(given), held).passed is not refused


@pytest.mark.parametrize(
    ("security", "found"),
    [
        ({}, {}),
        ({"enabled": "true"}, {"xpack.security.enabled": "true"}),
        (
            {"enabled": True, "transport": {"ssl": {"enabled": "false"}}},
            {"xpack.security.enabled": "true", "xpack.security.transport.ssl.enabled": "false"},
        ),
    ],
)
def test_the_protection_is_that_with_which_the_members_run(security: Json, found: dict[str, str]) -> None:
    answer = {"nodes": {"one": {"settings": {"xpack": {"security": security}}}}} if security else {}
    servers = cast(OpenSearchClient, Elasticsearch(settings=answer))
    assert protection_settings(servers) == found
