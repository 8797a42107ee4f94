"""Both clients against answers that no server of theirs gives: each ends as one sentence, none as a bug.

An answer that cannot be read may pass, as an outage may (a page of a proxy, a connection that was cut). So it can be
waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NotUnderstood, Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe import client as opensearch
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.answering import Api, answering

pytestmark = pytest.mark.usefixtures("uncollected")
PAGE = "<html><body><h1>Bad day</h1></body></html>"
HTML = {"Content-Type": "text/html"}
Ask = Callable[[Api], Any]


@pytest.fixture
def api() -> Iterator[Api]:
    with answering() as api:
        yield api


def _search(api: Api) -> opensearch.OpenSearchClient:
    return opensearch.connect({"hosts": [api.url], "request_timeout": 5})


def _cluster(api: Api) -> kubernetes.KubernetesClient:
    return kubernetes.connect({"host": api.url, "api_key": "token", "request_timeout": 5})


SEARCH: list[Ask] = [
    lambda api: _search(api).get("/_nodes"),
    lambda api: _search(api).post("/_cluster/reroute", {}),
    lambda api: _search(api).delete("/_component_template/x"),
    lambda api: _search(api).health(),
]
CLUSTER: list[Ask] = [
    lambda api: _cluster(api).get("/api/v1/namespaces/search/pods/data-0"),
    lambda api: _cluster(api).list("/api/v1/namespaces/search/pods"),
    lambda api: _cluster(api).patch("/api/v1/namespaces/search/pods/data-0", {}),
    lambda api: _cluster(api).post("/api/v1/namespaces/search/pods", {}),
    lambda api: _cluster(api).delete("/api/v1/namespaces/search/pods/data-0", "uid"),
]
NO_ANSWERS: list[tuple[int, Any, dict[str, str]]] = [
    (200, PAGE, HTML),
    (200, PAGE, {}),
    (200, '{"cut off": {"in the', {}),
    (200, "", {}),
    (200, "null", {}),
    (200, "[1, 2]", {}),
    (200, '"text"', {}),
    (200, "[" * 100_000, {}),
    (200, PAGE, {"Content-Type": "text/html; charset=\u00e4"}),
    (301, PAGE, {"Location": "/login", **HTML}),
    (302, "{}", {"Location": "https://login.example.com/"}),
    (307, "{}", {"Location": "/elsewhere"}),
]


@pytest.mark.parametrize("answer", NO_ANSWERS, ids=lambda answer: f"{answer[0]} {str(answer[1])[:12]}")
@pytest.mark.parametrize("ask", [*SEARCH, *CLUSTER])
def test_what_is_no_answer_is_not_understood(api: Api, ask: Ask, answer: tuple[int, Any, dict[str, str]]) -> None:
    status, content, headers = answer
    api.say(status, content, **headers)
    with pytest.raises(NotUnderstood) as caught:
        ask(api)
    (reason,) = caught.value.verdict.reasons
    assert reason.code == f"{'opensearch' if ask in SEARCH else 'kubernetes'}_not_understood"
    assert api.url in reason.message
    assert caught.value.as_waiting().state.value == "waiting"


ODD_ERRORS = [
    PAGE,
    "[]",
    '["x"]',
    "7",
    "null",
    "{}",
    '{"error": null}',
    '{"error": []}',
    '{"error": ["x"]}',
    '{"error": "plain"}',
    '{"error": {"root_cause": []}}',
    '{"error": {"root_cause": "x", "reason": 7}}',
    '{"error": {"root_cause": ["x"], "reason": null}}',
    '{"error": {"root_cause": [{"reason": {"a": 1}}]}}',
    '{"error": {"type": ["x"]}}',
    '{"message": {"a": 1}, "kind": ["Status"]}',
    '{"cut off',
    "[" * 100_000,
]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 418, 500])
@pytest.mark.parametrize("body", ODD_ERRORS, ids=lambda body: body[:24])
def test_an_error_may_say_anything(api: Api, status: int, body: str) -> None:
    for ask in (SEARCH[0], SEARCH[2], CLUSTER[2], CLUSTER[4]):
        api.answers[:] = [(status, body, {})]
        # It is no error that there was nothing to delete.
        with suppress(Refusal) if (status, ask) == (404, SEARCH[2]) else pytest.raises(Refusal) as caught:
            ask(api)
        said = str(caught.value) if caught else ""
        assert not any(raw in said for raw in ("{'", "['", "{}", "[]")), said


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('{"error": {"type": "index_closed_exception"}}', "index_closed_exception"),
        ('{"message": "Forbidden by the gateway"}', "Forbidden by the gateway"),
        ('{"Message": "User is not authorized"}', "User is not authorized"),
        ('{"error": {"root_cause": [{"type": "x"}], "reason": "inner"}}', "inner"),
        ('{"error": "plain"}', "plain"),
        ('{"took": 1, "errors": true}', "it does not say why"),
        ('{"error": [{"a": 1}]}', "it does not say why"),
    ],
)
def test_of_an_error_the_part_is_told_that_is_for_people(api: Api, body: str, says: str) -> None:
    api.answers[:] = [(409, body, {})]
    with pytest.raises(Refusal) as caught:
        SEARCH[0](api)
    (reason,) = caught.value.verdict.reasons
    assert reason.message == f"The search cluster at {api.url} answered 409 to GET /_nodes: {says}."


@pytest.mark.parametrize(
    "answer", [{}, {"items": None}, {"items": {}}, {"items": "x"}, {"items": [None]}, {"items": [1]}]
)
def test_a_list_without_items_is_no_empty_list(api: Api, answer: Any) -> None:
    api.say(200, answer)
    with pytest.raises(NotUnderstood, match=r"to list pods in namespace search is not understood: items"):
        CLUSTER[1](api)
