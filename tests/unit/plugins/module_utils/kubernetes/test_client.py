"""The client against a small HTTP server: each failure is one sentence that names the thing, and no secret is shown."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Conflict, Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.answers import api_request_of
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient, connect
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.rights import Right, missing_rights
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.rights import ROLE
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.answering import Api, answering

TOKEN = "a-secret-token"
POD = "/api/v1/namespaces/search/pods/data-2"
SETS = "/apis/apps/v1/namespaces/search/statefulsets"


@pytest.fixture
def api() -> Iterator[Api]:
    with answering() as api:
        yield api


@pytest.fixture
def client(api: Api) -> KubernetesClient:
    return connect({"host": api.url, "api_key": TOKEN, "request_timeout": 5})


def refusal_from(act: Callable[[], object]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        act()
    assert TOKEN not in str(caught.value)
    return caught.value


FORBIDDEN = 'pods "data-2" is forbidden: User "upgrader" cannot delete resource "pods" in API group "" in the namespace'


@pytest.mark.parametrize(
    ("status", "message", "code", "said"),
    [
        (401, "Unauthorized", "kubernetes_credentials", ["401", "api_key", "K8S_AUTH_API_KEY"]),
        (
            403,
            FORBIDDEN,
            "kubernetes_rights",
            [
                "upgrader",
                "delete pods/data-2",
                "Check the name of the namespace. Add to a Role in namespace search",
                '["pods"], verbs: ["delete"]',
            ],
        ),
        (403, 'pods "x" is forbidden: exceeded quota: pods=3', "kubernetes_refused", ["exceeded quota"]),
        (403, 'User "system:anonymous" cannot delete', "kubernetes_credentials", ["without credentials"]),
        (409, "the UID in the precondition does not match", "kubernetes_conflict", ["precondition", "data-2"]),
        (422, "updateStrategy: Forbidden", "kubernetes_refused", ["422", "updateStrategy: Forbidden"]),
        (503, "etcd is away", "kubernetes_unreachable", ["503", "etcd is away"]),
    ],
)
def test_an_answer_that_is_no_success(
    api: Api, client: KubernetesClient, status: int, message: str, code: str, said: list[str]
) -> None:
    api.say(status, message)
    error = refusal_from(lambda: client.delete(POD, "uid"))
    assert [reason.code for reason in error.verdict.reasons] == [code]
    assert [part for part in said if part not in str(error)] == []
    assert api.url in str(error) or code == "kubernetes_rights"
    assert isinstance(error, Conflict) is (status == 409)
    assert isinstance(error, Unreachable) is (status == 503)
    assert len(api.asked) == 1


def test_credentials_are_sent_and_a_deletion_carries_the_uid(api: Api, client: KubernetesClient) -> None:
    api.say(200, {"kind": "Pod"})
    assert client.delete(POD, "uid-old") is True
    method, path, headers, body = api.asked[0]
    assert (method, path) == ("DELETE", POD)
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert body["preconditions"] == {"uid": "uid-old"}


def test_a_deletion_leaves_the_grace_period_to_the_pod(api: Api, client: KubernetesClient) -> None:
    api.say(200, {"kind": "Pod"})
    api.say(200, {"kind": "Pod"})
    client.delete(POD, "uid-old")
    client.delete(POD, "uid-old", grace_seconds=0)
    assert [body.get("gracePeriodSeconds") for *_request, body in api.asked] == [None, 0]


def test_what_is_not_there(api: Api, client: KubernetesClient) -> None:
    api.say(404, "not found")
    assert client.get(POD) is None
    assert client.delete(POD, "uid") is False
    assert refusal_from(lambda: client.post(POD, {})).verdict.reasons[0].code == "kubernetes_not_found"
    assert isinstance(refusal_from(lambda: client.patch(POD, {})), Conflict), "what was observed is gone"


def test_a_404_that_is_not_of_kubernetes_is_not_taken_for_an_absent_object(api: Api, client: KubernetesClient) -> None:
    api.say(404, "<html>no such page</html>")
    assert refusal_from(lambda: client.get(POD)).verdict.reasons[0].code == "kubernetes_not_found"


def test_something_else_answers_at_that_address(api: Api, client: KubernetesClient) -> None:
    api.say(200, "<html>welcome</html>")
    assert refusal_from(lambda: client.get(POD)).verdict.reasons[0].code == "kubernetes_not_understood"


def test_reads_are_tried_again_and_writes_are_not(api: Api, client: KubernetesClient) -> None:
    api.say(503, "starting")
    api.say(200, {"items": [{"a": 1}]})
    assert client.list(SETS, label_selector="app=data") == [{"a": 1}]
    assert [path for _method, path, _headers, _body in api.asked] == [f"{SETS}?labelSelector=app%3Ddata&limit=500"] * 2
    api.answers, api.asked = [], []
    api.say(503, "starting")
    refusal_from(lambda: client.patch(POD, {}))
    assert len(api.asked) == 1


def test_a_write_turned_away_unread_is_sent_again(api: Api, client: KubernetesClient) -> None:
    api.say(429, "too many requests", **{"Retry-After": "0"})
    api.say(200, {"kind": "Pod"})
    assert client.patch(POD, {}) == {"kind": "Pod"}
    assert len(api.asked) == 2


def test_a_question_about_rights_is_asked_again(api: Api, client: KubernetesClient) -> None:
    api.say(503, "starting")
    api.say(201, {"status": {"allowed": True}})
    assert missing_rights(client, "search", [Right("get", "", "pods")]).reasons == ()


def test_patches_name_their_kind_their_manager_and_the_dry_run_and_know_every_field(
    api: Api, client: KubernetesClient
) -> None:
    api.say(200, {})
    client.patch(POD, {"a": 1}, "merge", dry_run=True)
    _method, path, headers, body = api.asked[0]
    assert path == f"{POD}?fieldManager=stateful.upgrade&fieldValidation=Strict&dryRun=All"
    assert headers["Content-Type"] == "application/merge-patch+json"
    assert body == {"a": 1}


def test_a_token_that_is_no_header_is_refused_without_it(api: Api) -> None:
    for given in (f"{TOKEN}\nmore", f"{TOKEN}\u0142"):
        client = connect({"host": api.url, "api_key": given})
        assert refusal_from(partial(client.get, POD)).verdict.reasons[0].code == "kubernetes_credentials"
    assert api.asked == []


def test_logs_are_lines(api: Api, client: KubernetesClient) -> None:
    api.say(200, "one\ntwo\n")
    assert client.log("search", "data-2", "server", lines=2, previous=True) == ["one", "two"]
    assert api.asked[0][1] == f"{POD}/log?container=server&tailLines=2&previous=true"


def test_a_task_shares_a_client_and_no_other_task_or_thread_gets_it() -> None:
    options = {"host": "http://127.0.0.1:1", "api_key": TOKEN}
    client = connect(options)
    assert connect(options) is client
    with ThreadPoolExecutor(1) as other:
        assert other.submit(connect, options).result() is not client
    assert connect({**options}) is not client


def test_nobody_listens() -> None:
    # Of a socket that does not listen the port is no other server's, and refuses connections.
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        client = connect({"host": f"http://127.0.0.1:{free.getsockname()[1]}", "api_key": TOKEN})
        error = refusal_from(lambda: client.delete(POD, "uid"))
    assert isinstance(error, Unreachable)
    assert "Connection refused" in str(error)
    assert "0x" not in str(error)


def test_a_server_that_never_answers() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        client = connect({"host": f"http://127.0.0.1:{silent.getsockname()[1]}", "request_timeout": 1})
        error = refusal_from(lambda: client.delete(POD, "uid"))
    assert isinstance(error, Unreachable)
    assert "did not answer within 1 s when asked to delete pods/" in str(error)
    assert "cannot be reached" not in str(error)
    assert "kubernetes.request_timeout" in str(error)


def test_plain_http_behind_an_https_address(api: Api) -> None:
    client = connect({"host": api.url.replace("http:", "https:")})
    error = refusal_from(lambda: client.delete(POD, "uid"))
    assert error.verdict.reasons[0].code == "kubernetes_certificate"


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/api/v1/namespaces/search/pods/data-2/log", ("get", "", "pods/log", "search", "data-2")),
        (SETS, ("list", "apps", "statefulsets", "search", "")),
        ("/api/v1/nodes/worker-1", ("get", "", "nodes", "", "worker-1")),
        ("/api/v1/namespaces/search", ("get", "", "namespaces", "", "search")),
    ],
)
def test_requests_in_the_words_of_a_role(path: str, rule: tuple[str, ...]) -> None:
    request = api_request_of("GET", path)
    assert (request.verb, request.group, request.resource, request.namespace, request.name) == rule


def test_all_missing_rights_are_told_at_once(api: Api, client: KubernetesClient) -> None:
    api.say(201, {"status": {"allowed": False}})
    verdict = missing_rights(client, "search", [Right("patch", "apps", "statefulsets"), Right("get", "", "pods/log")])
    (reason,) = verdict.reasons
    assert reason.code == "kubernetes_rights"
    assert "may not patch statefulsets, get pods/log in namespace search" in reason.message
    assert 'apiGroups: ["apps"], resources: ["statefulsets"], verbs: ["patch"]' in reason.remedy
    assert api.asked[1][3]["spec"]["resourceAttributes"] == {
        "verb": "get",
        "group": "",
        "resource": "pods",
        "subresource": "log",
        "namespace": "search",
    }


@pytest.mark.parametrize("seen", [False, True])
def test_the_name_of_a_namespace_is_doubted_only_until_something_in_it_was_seen(
    api: Api, client: KubernetesClient, seen: bool
) -> None:
    api.say(201, {"status": {"allowed": False}})
    api.say(403, {"message": "no"})
    (reason,) = missing_rights(client, "search", [Right("patch", "", "pods")], seen=seen).reasons
    assert "may not patch pods in namespace search" in reason.message
    assert ("Check the name of the namespace." in reason.remedy) is not seen
    assert ("is not shown to this user" in reason.message) is not seen


def test_a_right_that_only_explains_is_a_remark(api: Api, client: KubernetesClient) -> None:
    api.say(201, {"status": {"allowed": False}})
    explaining = [right for right in ROLE if right.explains]
    assert explaining
    assert missing_rights(client, "search", explaining).passed
    assert not missing_rights(client, "search", ROLE).passed


def test_no_right_is_missing(api: Api, client: KubernetesClient) -> None:
    api.say(201, {"status": {"allowed": True}})
    assert missing_rights(client, "search", ROLE).reasons == ()
