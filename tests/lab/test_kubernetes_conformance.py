"""The lab's API server still answers what the API server in memory is held to (tests/sandbox/conformance)."""

from __future__ import annotations

import pytest

from tests.lab.lab import Lab
from tests.sandbox.conformance.kubernetes import CASES, recorded
from tests.sandbox.conformance.kubernetes_asking import OfLab, seen


@pytest.mark.parametrize("name", CASES)
def test_the_answers_are_the_same(lab: Lab, name: str) -> None:
    assert seen(CASES[name], OfLab(lab)) == recorded(name)
