"""The answers of the Eviction API, and what each of them means."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import (
    Conflict,
    Denied,
    NotUnderstood,
    Refusal,
    Unreachable,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.answers import NotAdmitted
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.evictions import (
    EvictionKept,
    PodGone,
    evict,
)

from tests.sandbox.kubernetes.in_process import InProcess
from tests.sandbox.web import Answer, Request

WEBHOOK = 'admission webhook "virt.example" denied the request: Eviction triggered evacuation'
CAUSE = {"reason": "DisruptionBudget", "message": "The disruption budget data needs 2 healthy pods"}


class Answering(InProcess):
    """It gives one answer, and keeps the requests."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__()
        self.given = Answer(status, body)
        self.got: list[Request] = []

    def answer(self, request: Request) -> Answer:
        self.got.append(request)
        return self.given


def status(code: int, message: str = "no", **more: Any) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code, **more}


@pytest.mark.parametrize(
    ("code", "body", "kind"),
    [
        (429, status(429, details={"causes": [CAUSE]}), EvictionKept),
        (429, status(429, WEBHOOK), EvictionKept),
        (500, status(500, "This pod has more than one PodDisruptionBudget, which …"), EvictionKept),
        (429, status(429, "too many requests, please try again later"), Unreachable),
        (500, status(500, 'failed calling webhook "a"'), Unreachable),
        (503, "down", Unreachable),
        (404, status(404, 'pods "a" not found', details={"name": "a", "kind": "pods"}), PodGone),
        (404, status(404, "the server could not find the requested resource"), Refusal),
        (409, status(409, "Precondition failed"), Conflict),
        (403, status(403, 'User "u" cannot create resource "pods/eviction"'), Denied),
        (403, status(403, "pdb disruptions allowed is negative"), NotAdmitted),
        (400, status(400, WEBHOOK), NotAdmitted),
        (429, status(429, details={"causes": "many"}), NotUnderstood),
    ],
)
def test_each_answer_is_one_kind_of_refusal_and_is_asked_for_once(code: int, body: Any, kind: type[Refusal]) -> None:
    api = Answering(code, body)
    with pytest.raises(Refusal) as error:
        evict(api.client(), "search", "a", "uid-1")
    assert isinstance(error.value, kind)
    assert not isinstance(error.value, (EvictionKept, PodGone)) or type(error.value) is kind
    assert len(api.got) == 1


def test_the_words_of_a_budget_are_kept_and_several_are_known() -> None:
    with pytest.raises(EvictionKept) as one:
        evict(Answering(429, status(429, details={"causes": [CAUSE]})).client(), "search", "a", "uid-1")
    assert (one.value.covered_twice, one.value.said) == (False, f"no {CAUSE['message']}")
    with pytest.raises(EvictionKept) as several:
        evict(Answering(500, status(500, "more than one PodDisruptionBudget")).client(), "search", "a", "uid-1")
    assert several.value.covered_twice


def test_exactly_one_pod_is_meant_and_its_grace_period_is_its_own() -> None:
    api = Answering(201, {"kind": "Status", "status": "Success"})
    evict(api.client(), "search", "a", "uid-1", dry_run=True)
    (request,) = api.got
    assert (request.path, request.query["dryRun"]) == ("/api/v1/namespaces/search/pods/a/eviction", "All")
    options = request.body["deleteOptions"]
    assert (options["preconditions"], "gracePeriodSeconds" in options) == ({"uid": "uid-1"}, False)
    assert (request.body["apiVersion"], request.body["kind"]) == ("policy/v1", "Eviction")
