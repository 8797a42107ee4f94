"""TLS is switched on and off at the REST port by a restart: each member is asked by the scheme that it has then."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.scenarios.branches.test_restart import MEMBERS, RESTART, marks, processes
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import Played, play
from tests.scenarios.preconditions import index
from tests.scenarios.schemes import answering, plain_cluster, variables

NUMBERS = itertools.count(1)


@pytest.fixture
def plain(platform: Platform) -> Iterator[Cluster]:
    """A cluster without TLS."""
    cluster = plain_cluster(platform, f"scheme-{next(NUMBERS)}")
    yield cluster
    cluster.remove()


def switched(given: Mapping[str, Any], environment: Mapping[str, str]) -> tuple[Played, Played]:
    """The run that shows its plan, and the one that was confirmed."""
    shown = play(RESTART, given, environment)
    digest = re.search(r"Plan (p\w{11})", shown.output)
    assert digest, shown.output
    return shown, play(RESTART, {**given, "upgrade_confirm": digest[1]}, environment)


def test_tls_is_switched_on_and_off_while_the_pods_stay(plain: Cluster, ansible_environment: Mapping[str, str]) -> None:
    before = plain.fingerprint().pods
    for on, old, new in ((True, "http", "https"), (False, "https", "http")):
        first = processes(plain)
        given = variables(plain, on)
        with index(plain, "logs", shards=2, replicas=1):
            alone = {name: value for name, value in given.items() if name != "upgrade_opensearch_after_hosts"}
            refused = play(RESTART, alone, ansible_environment)
            assert refused.code != 0
            assert "no addresses are given for restarted members" in refused.message
            assert processes(plain) == first
            shown, done = switched(given, ansible_environment)
            print(done.output)
            assert f"Each member answers by {new} alone once it has restarted, and {old} ends" in shown.output
            assert "Plan: 3 to restart" in shown.output
            assert done.code == 0, done.message
            assert "3 restarted" in done.output
        assert (answering(plain, new), answering(plain, old)) == ({*MEMBERS}, set())
        again = play(RESTART, given, ansible_environment)
        assert (again.code, "Nothing to do" in again.output) == (0, True), again.output
        after = processes(plain)
        assert {name for name in MEMBERS if after[name] == first[name]} == set()
        assert plain.fingerprint().pods == before
        assert not any("phase" in key for keys in marks(plain).values() for key in keys)


def test_a_certificate_for_another_name_is_refused_before_any_member_goes(
    plain: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    first, given = processes(plain), variables(plain, on=True)
    strange = {**given, "upgrade_opensearch_after_hosts": "https://search.example.com:9200"}
    refused = play(RESTART, strange, ansible_environment)
    assert refused.code != 0
    assert "The certificates for the REST port are for 127.0.0.1, localhost, and not for" in refused.message
    assert processes(plain) == first


def test_the_run_stops_at_the_first_member_that_does_not_answer_at_its_new_address(
    plain: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    first, given = processes(plain), variables(plain, on=True)
    nowhere = {**given, "upgrade_opensearch_after_hosts": "https://127.0.0.1:1", "upgrade_member_timeout": 60}
    _shown, failed = switched(nowhere, ansible_environment)
    print(failed.output)
    assert failed.code != 0
    assert "has joined the cluster and has not answered at https://127.0.0.1:1" in failed.message
    after = processes(plain)
    (gone,) = {name for name in MEMBERS if after[name] != first[name]}
    assert answering(plain, "https") == {gone}
    # With the right address the next run takes the others.
    _shown, done = switched(given, ansible_environment)
    assert done.code == 0, done.message
    assert (answering(plain, "https"), processes(plain)[gone]) == ({*MEMBERS}, after[gone])
