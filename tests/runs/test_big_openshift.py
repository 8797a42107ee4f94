"""A large OpenShift: a pass asks for as much at the end of an upgrade as at its start."""

from __future__ import annotations

import pytest

from tests.runs.big_openshift import passes


@pytest.mark.parametrize(("nodes", "at_once"), [(20, "20%"), pytest.param(500, "10%", marks=pytest.mark.soak)])
def test_a_pass_asks_for_as_much_however_many_kubernetes_nodes_are_done(nodes: int, at_once: str) -> None:
    plan, found = passes(nodes, at_once)
    asked = [each.cost.requests for each in found]
    print(plan.requests, asked)
    # The first pass starts the run, and the last one ends it.
    usual = asked[3:-2]
    assert len(usual) >= 3
    assert len(set(usual)) == 1
    assert max(asked) <= usual[0] + 10
