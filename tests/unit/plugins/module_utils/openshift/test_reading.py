"""Observations from the objects of OpenShift."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.reading import cluster_version


@pytest.mark.parametrize(
    ("wanted", "more"),
    [
        ({"version": "4.18.1", "image": "", "force": True}, ("force",)),
        ({"acceptRisks": [{"name": "SlowPods"}]}, ()),
        ({"version": "4.18.1", "architecture": "Multi", "acceptRisks": [{"name": "SlowPods"}]}, ("architecture",)),
    ],
)
def test_risks_that_a_person_accepts_outlast_the_update_that_was_desired_before(
    wanted: dict[str, Any], more: tuple[str, ...]
) -> None:
    """All other fields are removed with the next desired update."""
    spec = {"clusterID": "id", "desiredUpdate": wanted}
    found = cluster_version("version", {"metadata": {"resourceVersion": "7"}, "spec": spec})
    assert found.wanted_more == more


@pytest.mark.parametrize(("mode", "commenced"), [({}, True), ({"mode": ""}, True), ({"mode": "Preflight"}, False)])
def test_an_update_that_is_only_checked_is_not_commenced(mode: dict[str, str], commenced: bool) -> None:
    """The next desired update has no mode, so that it is applied."""
    spec = {"clusterID": "id", "desiredUpdate": {"version": "4.19.0", "image": "release:new", **mode}}
    found = cluster_version("version", {"metadata": {"resourceVersion": "7"}, "spec": spec})
    assert found.is_commenced("4.19.0") is commenced
    assert bool(found.wanted_image) is commenced
    assert found.wanted_more == tuple(mode)
