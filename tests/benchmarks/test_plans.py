"""The answers of the made-up cluster are understood, and its plan is proven."""

from __future__ import annotations

import pytest

from tests.benchmarks.plans import measure


@pytest.mark.parametrize("zones", [0, 3])
def test_each_member_is_in_a_batch(zones: int) -> None:
    cost = measure(12, 60, zones)
    assert sum(len(batch.members) for batch in cost.batches) == 12
