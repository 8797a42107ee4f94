# SPDX-License-Identifier: GPL-3.0-or-later
"""An upgrade of three members as one call, and killed behind an act and run again."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.runs.world import CalledCluster, World, world
from tests.scenarios.cluster import Fingerprint
from tests.scenarios.playbook import PLAYBOOK

FROM, TO = "2.19.6", "3.8.0"
KILLS = (1, 5, 9, 14, 20, 27, 35, 44, 54, 65, 76)
"""The acts of a run behind which it is killed; `make soak` does it behind each."""


@pytest.fixture(scope="module")
def here() -> Iterator[World]:
    """One world for all tests of this module, each with a cluster of its own."""
    with world() as made:
        yield made


def is_done(cluster: CalledCluster, before: Fingerprint) -> None:
    """Fails unless each member was replaced, once, and everything else is as it was."""
    cluster.is_upgraded(TO)
    after = cluster.fingerprint()
    assert after.settings == before.settings
    assert not set(after.pods.values()) & set(before.pods.values())
    assert not cluster.excluded()


def deletions(here: World, cluster: CalledCluster) -> list[str]:
    """The members whose pods were deleted by a controller."""
    pods = f"/api/v1/namespaces/{cluster.namespace}/pods/{cluster.name}-members-"
    paths = [path for method, path in here.acts() if method == "DELETE" and path.startswith(pods)]
    return sorted(path.rpartition("/")[2] for path in paths if "image-pull" not in path)


def test_an_upgrade_in_one_process(here: World) -> None:
    cluster = here.cluster(FROM)
    before = cluster.fingerprint()
    given = here.confirmed(cluster.variables(TO))
    done = here.play(PLAYBOOK, given)
    assert done.code == 0, done.output
    is_done(cluster, before)
    again = here.play(PLAYBOOK, given)
    assert again.code == 0, again.output
    assert deletions(here, cluster) == sorted(before.pods)


def test_a_batch_has_few_tasks_and_none_that_only_skips(here: World) -> None:
    done = here.play(PLAYBOOK, here.confirmed(here.cluster(FROM).variables(TO)))
    counted = re.findall(r"^(\S+) +: ok=(\d+) .* skipped=(\d+) ", done.output, flags=re.MULTILINE)
    batches = {host: (int(ok), int(skipped)) for host, ok, skipped in counted if host.startswith("batch-")}
    assert len(batches) == 3, done.output
    assert all(ok <= 10 and skipped == 0 for ok, skipped in batches.values()), batches


def killed_behind(here: World, number: int) -> bool:
    """Whether a run had so many acts; it was killed behind that one, and the next run has completed the upgrade."""
    cluster = here.cluster(FROM)
    before = cluster.fingerprint()
    given = here.confirmed(cluster.variables(TO))
    if here.killed_behind(number, given) is not None:
        return False
    last = here.acts()[-1]
    done = here.play(PLAYBOOK, given)
    assert done.code == 0, f"killed behind {last}\n{done.output}"
    is_done(cluster, before)
    assert deletions(here, cluster) == sorted(before.pods), last
    return True


@pytest.mark.parametrize("number", KILLS)
def test_killed_behind_an_act_and_run_again(here: World, number: int) -> None:
    assert killed_behind(here, number)


@pytest.mark.soak
def test_killed_behind_each_act(here: World) -> None:
    number = 1
    while killed_behind(here, number):
        number += 1
    assert number > max(KILLS)
