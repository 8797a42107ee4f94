"""Whether OpenShift is well: its operators, and its ClusterVersion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.conditions import StatusCondition
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.health import (
    judge_operators,
    judge_version,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.progress import judge_control_plane

from tests.unit.plugins.module_utils.openshift.seen import FALSE, NEW, TRUE, openshift, version

TARGET = Release.parse(NEW)


@pytest.mark.parametrize("facts", [{"available": FALSE}, {"degraded": TRUE}, {"degraded": StatusCondition()}])
def test_an_operator_that_does_not_say_that_it_is_well_is_not(facts: dict[str, Any]) -> None:
    seen = openshift()
    unwell = replace(seen, operators=(replace(seen.operators[0], **facts), seen.operators[1]))
    (reason,) = judge_operators(unwell).reasons
    assert reason.message.startswith("ClusterOperator etcd is ")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Failing", "The ClusterVersion cannot be reconciled: no image."),
        ("Invalid", "The ClusterVersion is not valid: "),
    ],
)
def test_a_cluster_version_that_is_not_well_is_waited_for_as_oc_refuses_it(name: str, said: str) -> None:
    known = {each: StatusCondition("False", "", "of the past") for each in ("Failing", "Invalid")}
    assert judge_version(openshift(version=version(conditions=known))).passed
    seen = openshift(version=version(conditions={name: StatusCondition("True", "PayloadFailed", "no image.")}))
    (reason,) = judge_version(seen).reasons
    assert reason.message.startswith(said)
    # Nothing begins while it is not valid.
    assert ("--allow-upgrade-with-warnings" in reason.remedy) == (name == "Failing")
    # Of an operator that is not well it is known by itself.
    unwell = replace(seen, operators=(replace(seen.operators[0], available=FALSE), seen.operators[1]))
    assert judge_version(unwell).passed == (name == "Failing")


def test_an_update_that_is_not_begun_since_it_is_not_valid_says_so() -> None:
    invalid = {
        "Invalid": StatusCondition("True", "InvalidClusterVersion", "The cluster version is invalid: no digest.")
    }
    (reason,) = judge_control_plane(openshift(version=version(wanted=NEW, conditions=invalid)), TARGET).reasons
    assert reason.message.endswith("has not begun the update to 4.18.2 yet: The cluster version is invalid: no digest.")
