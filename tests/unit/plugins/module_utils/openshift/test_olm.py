"""The operators of OLM, and the later versions of a chain that they do not support."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.olm import judge_operators_of_olm
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.olm import olm_operator
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.state import OlmOperator

OLD = OlmOperator("logging/loki.v5", (4, 19))


def item(properties: Any) -> dict[str, Any]:
    notes = {} if properties is None else {"olm.properties": properties}
    return {"metadata": {"namespace": "logging", "name": "loki.v5", "annotations": notes}}


def named(*values: Any) -> str:
    return json.dumps([{"type": "olm.maxOpenShiftVersion", "value": value} for value in values])


@pytest.mark.parametrize(
    ("properties", "last"),
    [
        (named("4.19"), (4, 19)),
        (named('"4.19"'), (4, 19)),
        (named("v4.19.0"), (4, 19)),
        (named("4.9", "4.19"), (4, 19)),
        (named("latest"), None),
        (json.dumps([{"type": "olm.package", "value": {"version": "4.1"}}, 7]), None),
        ("{}", None),
        ("no JSON", None),
        (None, None),
    ],
)
def test_the_last_version_is_a_property_in_an_annotation(properties: str | None, last: tuple[int, int] | None) -> None:
    assert olm_operator(item(properties)) == (OlmOperator("logging/loki.v5", last) if last else None)


@pytest.mark.parametrize(
    ("hops", "said"),
    [
        ("4.19.4 4.20.2", "The upgrade from 4.19.4 to 4.20.2 waits for operators"),
        ("4.18.9 4.19.4 4.20.2 4.21.1", "The upgrade from 4.19.4 to 4.20.2 waits for operators"),
        # That is the first upgrade, of which OpenShift says so itself.
        ("4.20.2 4.21.1", ""),
        ("4.19.4", ""),
        ("4.18.9 4.19.4", ""),
        ("4.19.4 4.19.9", ""),
    ],
)
def test_a_later_upgrade_that_an_operator_holds_up_is_named_once(hops: str, said: str) -> None:
    operators = (OLD, OlmOperator("storage/odf", (4, 30)))
    verdict = judge_operators_of_olm(operators, [Release.parse(each) for each in hops.split()])
    assert verdict.passed
    assert [said in each.message and "logging/loki.v5 (4.19)." in each.message for each in verdict.reasons] == (
        [True] if said else []
    )


@pytest.mark.parametrize(
    ("hops", "last", "named"),
    [
        ("4.22.1 5.0.0", (4, 22), ["4.22.1 to 5.0.0"]),
        ("4.22.1 5.0.0", (4, 23), []),
        ("4.22.1 5.0.0 5.1.0", (4, 23), ["5.0.0 to 5.1.0"]),
        ("5.0.0 5.1.0", (4, 23), ["5.0.0 to 5.1.0"]),
        ("4.23.1 5.0.0 5.1.0", (4, 23), ["4.23.1 to 5.0.0"]),
        ("5.0.0 5.1.0", (5, 1), []),
    ],
)
def test_an_operator_for_the_last_minor_version_of_4_supports_the_first_of_5(
    hops: str, last: tuple[int, int], named: list[str]
) -> None:
    """OLM on 4.22 asks for 4.23, whatever follows."""
    verdict = judge_operators_of_olm((OlmOperator("a/b", last),), [Release.parse(each) for each in hops.split()])
    assert [any(f"from {each} waits" in reason.message for each in named) for reason in verdict.reasons] == [
        True
    ] * len(named)
