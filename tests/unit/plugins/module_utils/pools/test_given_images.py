"""The new image of each pool, as a user gives it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.given_images import (
    given_images,
    image_for,
    judge_images,
)

ONE, OTHER = "registry.example.com:5000/search/opensearch:3.8.0", "opensearch@sha256:00"


@pytest.mark.parametrize(
    ("given", "hot", "warm"),
    [
        (None, "", ""),
        ("", "", ""),
        (ONE, ONE, ONE),
        ({"hot": ONE}, ONE, ""),
        ({"*": ONE, "hot": OTHER}, OTHER, ONE),
        ({"w*": ONE, "*": OTHER}, OTHER, ONE),
        (f"hot={ONE}, warm = {OTHER}", ONE, OTHER),
        (f"hot={OTHER},{ONE}", OTHER, ONE),
    ],
)
def test_one_for_all_pools_or_one_for_each(given: Any, hot: str, warm: str) -> None:
    images = given_images(given)
    assert [image_for(pool, images) for pool in ("hot", "warm")] == [hot, warm]


@pytest.mark.parametrize(
    "given", [{"hot": ""}, {"hot": None}, {"": ONE}, f"hot={ONE},hot={OTHER}", "hot=", f"{ONE},{OTHER}"]
)
def test_a_pool_gets_one_image(given: Any) -> None:
    with pytest.raises(Refusal) as caught:
        given_images(given)
    assert [reason.code for reason in caught.value.verdict.reasons] == ["image_of_pool_unclear"]


def test_the_plan_names_the_image_of_each_pool_and_a_pool_that_is_not_there() -> None:
    going, pools = {"hot": ONE, "warm": OTHER}, {"hot", "warm", "cold"}
    assert judge_images({}, going, pools).reasons == judge_images({"*": ONE}, going, pools).reasons == ()
    verdict = judge_images({"hot": ONE, "cold": ONE, "wrm": OTHER, "x*": OTHER}, going, pools)
    assert [(reason.state.value, reason.message) for reason in verdict.reasons] == [
        ("refused", "image (upgrade_image) names pool wrm, and there is no such pool."),
        ("refused", "image (upgrade_image) names pool x*, and there is no such pool."),
        ("passed", f"Pool hot gets image {ONE}."),
        ("passed", f"Pool warm gets image {OTHER}."),
    ]
    assert verdict.reasons[0].remedy == "Correct the name; there are: cold, hot, warm."
