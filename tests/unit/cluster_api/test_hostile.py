"""Requests with anything anywhere get an answer, or one sentence; none of them is a fault of the service."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.cluster_api.cluster_api_extension.bodies import BadBody, body_of
from extensions.cluster_api.cluster_api_extension.policy import Policy, policy_of
from extensions.cluster_api.cluster_api_extension.service import HookService
from extensions.cluster_api.cluster_api_extension.store import Store
from tests.unit.cluster_api.management import SERVICE, DirectApi, Management
from tests.unit.cluster_api.manifests import NAMESPACE
from tests.unit.cluster_api.requests import HOOKS, Json, recorded
from tests.unit.cluster_api.test_external import request

MACHINE = "mem-md-0-7gkws-vcdx7-x4nvg"
POLICY = policy_of({"gate": {"hooks": ["BeforeWorkersUpgrade"]}})
BY_UPGRADE_TASK = policy_of({"external": {"upgrade_task": True}})
ODD: tuple[Any, ...] = (None, True, "x", [[]], {"": {"": None}})
STATUS = ("Success", "Failure")


def bodies() -> dict[str, Json]:
    found = {hook: recorded(hook) for hook in HOOKS}
    external = {**request(), "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "kind": "ExternalUpgradeRequest"}
    return {**found, "externalupgrade": external}


def places(item: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
    return [found for key, value in inner for found in ((*path, key), *places(value, (*path, key)))]


def replaced(body: Json, path: tuple[str | int, ...], value: Any) -> bytes:
    """The body with another value at a path, as it is sent."""
    item: Any = body
    for key in path[:-1]:
        item = item[key]
    before, item[path[-1]] = item[path[-1]], value
    content = json.dumps(body).encode()
    item[path[-1]] = before
    return content


BODIES = bodies()


@pytest.mark.parametrize(
    ("hook", "policy"), [*((hook, POLICY) for hook in sorted(BODIES)), ("externalupgrade", BY_UPGRADE_TASK)]
)
def test_a_field_of_any_other_kind_is_answered_or_refused(hook: str, policy: Policy) -> None:
    management = Management()
    management.define_upgrade_tasks()
    for name in (MACHINE, "one", "two"):
        management.owned(name, "md-0")
    service = HookService(policy, Store(DirectApi(management, SERVICE), NAMESPACE), management.now)

    async def run() -> None:
        for path in places(BODIES[hook]):
            for value in ODD:
                sentence, answer = await said(service, hook, replaced(BODIES[hook], path, value))
                assert (sentence.endswith(".") and "\n" not in sentence) or answer["status"] in STATUS, (path, value)

    asyncio.run(run())


async def said(service: HookService, hook: str, content: bytes) -> tuple[str, Json]:
    try:
        return "", await service.answer(hook, content)
    except BadBody as error:
        return str(error), {}


@given(st.binary(max_size=200))
def test_bytes_are_no_request(content: bytes) -> None:
    with pytest.raises(BadBody):
        body_of(content, "UpdateMachine")
