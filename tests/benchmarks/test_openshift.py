"""The benchmark of OpenShift: its made-up lists are read, and judged as what they are."""

from __future__ import annotations

import pytest

from tests.benchmarks.openshift import measure


@pytest.mark.parametrize(("share", "found"), [(50, set()), (100, {"no_room", "not_computed"})])
def test_batches_of_a_full_cluster_find_no_room(share: int, found: set[str]) -> None:
    assert set(measure(12, 240, 3, share).reasons) == found
