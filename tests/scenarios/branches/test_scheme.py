"""TLS is switched on and off at the REST port by a restart: each member is asked by the scheme that it has then."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.lab.opensearch.layouts import ELASTICSEARCH, three_combined
from tests.scenarios.branches.conftest import REAL
from tests.scenarios.branches.test_new_configuration import contents
from tests.scenarios.branches.test_restart import MEMBERS, RESTART, marks, processes
from tests.scenarios.branches.test_template_changed import change
from tests.scenarios.cluster import RESTART_ROLE, Cluster, bound
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import Played, play, upgrade
from tests.scenarios.preconditions import POOL, index
from tests.scenarios.schemes import HTTP, SwitchingCluster, answering, by, plain_cluster, variables

pytestmark = pytest.mark.real_servers

NUMBERS = itertools.count(1)
with_security = pytest.mark.skipif(REAL, reason="servers with security are in tests/scenarios/secured")
"""The lab's servers know no setting of TLS."""


@pytest.fixture
def plain(platform: Platform) -> Iterator[Cluster]:
    """A cluster without TLS."""
    cluster = plain_cluster(platform, f"scheme-{next(NUMBERS)}")
    yield cluster
    cluster.remove()


def switched_on(template: Mapping[str, str]) -> dict[str, Any]:
    """The part of a pod template that sets these settings of its server."""
    env = [{"name": name, "value": value} for name, value in template.items()]
    return {"spec": {"containers": [{"name": "opensearch", "env": env}]}}


def switched(given: Mapping[str, Any], environment: Mapping[str, str]) -> tuple[Played, Played]:
    """The run that shows its plan, and the one that was confirmed."""
    shown = play(RESTART, given, environment)
    digest = re.search(r"Plan (p\w{11})", shown.output)
    assert digest, shown.output
    return shown, play(RESTART, {**given, "upgrade_confirm": digest[1]}, environment)


@with_security
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


@with_security
def test_the_run_stops_at_the_first_member_that_does_not_answer_at_its_new_address(
    plain: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    first, given = processes(plain), variables(plain, on=True)
    nowhere = {**given, "upgrade_opensearch_after_hosts": "https://127.0.0.1:1", "upgrade_member_timeout": 60}
    _shown, failed = switched(nowhere, ansible_environment)
    print(failed.output)
    assert failed.code != 0
    assert "These members are in the cluster, and have not answered at https://127.0.0.1:1" in failed.message
    after = processes(plain)
    (gone,) = {name for name in MEMBERS if after[name] != first[name]}
    assert answering(plain, "https") == {gone}
    # With the right address the next run takes the others.
    _shown, done = switched(given, ansible_environment)
    assert done.code == 0, done.message
    assert (answering(plain, "https"), processes(plain)[gone]) == ({*MEMBERS}, after[gone])


@with_security
def test_a_changed_template_of_the_same_version_is_rolled_through_both_schemes(
    platform: Platform, ansible_environment: Mapping[str, str]
) -> None:
    """The configuration comes by variables of the pod: a new pod answers by its own scheme."""
    cluster = SwitchingCluster(platform, f"scheme-{next(NUMBERS)}")
    cluster.rise(three_combined, "2.19.6", ready={"tcpSocket": {"port": 9200}}, update_strategy="OnDelete")
    try:
        before = cluster.fingerprint().pods
        for on, old, new in ((True, "http", "https"), (False, "https", "http")):
            change(cluster, template=switched_on({f"{HTTP}.enabled": str(on).lower()}))
            given = {
                **by(cluster, old).variables("2.19.6"),
                "upgrade_opensearch_after_hosts": by(cluster, new).url,
            }
            done = upgrade(given, ansible_environment)
            print(done.output)
            assert done.code == 0, done.message
            assert (answering(cluster, new), answering(cluster, old)) == ({*MEMBERS}, set())
            cluster.until_green()
        after = cluster.fingerprint().pods
        assert {name for name in MEMBERS if after[name] == before[name]} == set()
    finally:
        cluster.remove()


@with_security
def test_elasticsearch_changes_its_scheme_in_the_same_way(
    platform: Platform, ansible_environment: Mapping[str, str]
) -> None:
    name = f"scheme-{next(NUMBERS)}"
    cluster = SwitchingCluster(platform, name)
    options: dict[str, Any] = {"product": ELASTICSEARCH, "ready": {"tcpSocket": {"port": 9200}}}
    cluster.rise(three_combined, "8.19.4", configured=True, **options)
    platform.apply(bound(RESTART_ROLE, name))
    try:
        own = "xpack.security.http.ssl"
        switch = f"{own}.enabled: true\n{own}.keystore.path: certificates/http.p12\n"
        wanted = {key: text + switch for key, text in contents(cluster).items()}
        given = {key: value for key, value in cluster.variables("").items() if key != "target_version"}
        given["upgrade_opensearch_after_hosts"] = cluster.url.replace("http:", "https:")
        given["upgrade_configuration"] = [{"pool": POOL, "contents": wanted}]
        shown, done = switched(given, ansible_environment)
        print(done.output)
        assert "were not looked into: /usr/share/elasticsearch/config/certificates/http.p12" in shown.output
        assert done.code == 0, done.message
        assert (answering(cluster, "https"), answering(cluster, "http")) == ({*MEMBERS}, set())
    finally:
        cluster.remove()


@with_security
def test_the_security_configuration_is_applied_at_its_point_and_the_record_keeps_its_version(
    plain: Cluster, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    """As docs/restart.md says: a step whose name has the version. The stand-in notes the members' scheme by then."""
    log = tmp_path / "log"
    steps = []
    for point in ("before", "after"):
        tasks = tmp_path / f"{point}.yml"
        tasks.write_text(f"- ansible.builtin.shell: echo {point} >> {log}\n")
        steps.append({"name": f"security-configuration-{point}-7", "tasks": str(tasks), "moment": point})
    given = {**variables(plain, on=True), "upgrade_steps": steps}
    _shown, done = switched(given, ansible_environment)
    print(done.output)
    assert done.code == 0, done.message
    assert log.read_text().split() == ["before", "after"]
    assert answering(plain, "https") == {*MEMBERS}
    with plain.platform.client() as api:
        maps: Any = client.CoreV1Api(api).list_namespaced_config_map(plain.namespace).items
    kept = "".join(text for each in maps for text in (each.data or {}).values())
    assert [step["name"] in kept for step in steps] == [True, True]
