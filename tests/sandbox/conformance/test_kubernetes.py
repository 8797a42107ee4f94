"""The API server in memory answers as the lab's did. A test in tests/lab asks for the present answers of the lab."""

from __future__ import annotations

import pytest

from tests.sandbox.clock import Clock
from tests.sandbox.conformance.kubernetes import CASES, recorded
from tests.sandbox.conformance.kubernetes_asking import OfSandbox, seen
from tests.sandbox.kubernetes.cluster import Kubernetes


@pytest.mark.parametrize("name", CASES)
def test_the_answers_are_the_same(name: str) -> None:
    assert seen(CASES[name], OfSandbox(Kubernetes(Clock()))) == recorded(name)
