"""The amounts that a pod takes from a quota."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pod_usage import quantity, usage_of


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("100m", "0.1"),
        ("1", "1"),
        (2, "2"),
        ("1Gi", "1073741824"),
        ("1G", "1000000000"),
        ("1e3", "1000"),
        ("0.5", "0.5"),
    ],
)
def test_a_quantity_is_a_number(text: object, amount: str) -> None:
    assert quantity(text) == Decimal(amount)


@pytest.mark.parametrize("text", ["", "Gi", "many", None])
def test_other_text_is_none(text: object) -> None:
    assert quantity(text) is None


def container(cpu: str, **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [container("1"), container("500m")]}, "1.5"),
        ({"containers": [container("1")], "initContainers": [container("3"), container("2")]}, "3"),
        ({"containers": [container("1")], "initContainers": [container("2", restartPolicy="Always")]}, "3"),
        (
            {
                "containers": [container("1")],
                "initContainers": [container("1", restartPolicy="Always"), container("4")],
            },
            "5",
        ),
        ({"containers": [container("1")], "overhead": {"cpu": "250m"}}, "1.25"),
    ],
)
def test_the_amount_of_a_pod_is_the_most_that_it_needs_at_once(spec: dict[str, Any], cpu: str) -> None:
    found = usage_of(spec)
    assert found["requests.cpu"] == found["cpu"] == Decimal(cpu)
    assert found["pods"] == found["count/pods"] == 1
