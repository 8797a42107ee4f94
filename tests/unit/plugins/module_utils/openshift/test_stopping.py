"""The line of the plan about pause, abort and resume."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.order import turns
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.stopping import BY_ITSELF, stopping_text
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.state import OpenShift

from tests.unit.plugins.module_utils.openshift.seen import NAMES, NEW, node, openshift, pool, under_way

TARGET = Release.parse(NEW)
WORKERS_LEFT = openshift(
    version=under_way("Completed"),
    pools={"master": pool("master", NEW), "worker": pool("worker", NEW)},
    nodes={
        **{name: node(name, NEW) for name in NAMES["master"]},
        **{name: node(name) for name in NAMES["worker"]},
    },
)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (openshift(), f"pause and abort stop all until the update is commenced; after that {BY_ITSELF}"),
        (openshift(version=under_way()), f"the update is commenced: with pause or abort {BY_ITSELF}"),
        (WORKERS_LEFT, "pause and abort hold the workers behind the current batch, resume continues with the next one"),
    ],
)
def test_a_plan_says_what_a_stop_means_before_and_after_commencement(seen: OpenShift, expected: str) -> None:
    assert stopping_text(seen, turns(seen, TARGET), TARGET).startswith(expected)


def test_without_batches_there_is_nothing_to_stop() -> None:
    assert stopping_text(openshift(), [], TARGET) == ""
