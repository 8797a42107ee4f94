"""Real servers with the security plugin: TLS at the REST port is switched off and on by a restart."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.scenarios.branches.test_new_configuration import contents
from tests.scenarios.cluster import RESTART_ROLE, USER, bound
from tests.scenarios.playbook import play
from tests.scenarios.preconditions import POOL
from tests.scenarios.schemes import with_tls
from tests.scenarios.secured.cluster import DOCUMENTED, Secured

INDEX, DOCUMENTS = "orders", 50
RESTART = "stateful.upgrade.restart"
MEMBERS = {f"{POOL}-{ordinal}" for ordinal in range(3)}


class SwitchingSecured(Secured):
    """A secured cluster that the test itself asks by whichever scheme is taken."""

    def open(self, request: urllib.request.Request) -> Any:
        """See `Secured`."""
        for _scheme in range(2):
            try:
                return super().open(request)
            except OSError as error:
                if getattr(error, "code", 0) >= HTTPStatus.BAD_REQUEST:
                    raise
                old, _colon, rest = request.full_url.partition(":")
                request.full_url = f"{'http' if old == 'https' else 'https'}:{rest}"
        return super().open(request)


@pytest.fixture(scope="module")
def cluster(
    lab: Lab, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[SwitchingSecured]:
    role, version = next(iter(DOCUMENTED)), str(request.param)
    directory, users = tmp_path_factory.mktemp("scheme"), {USER: [role]}
    name = f"secured-scheme-{version.replace('.', '-')}"
    made = SwitchingSecured.begin(lab, name, version, directory, users, DOCUMENTED, configured=True)
    lab.apply(bound(RESTART_ROLE, made.namespace))
    made.ask(f"/{INDEX}", "PUT", {"settings": {"number_of_shards": 3, "number_of_replicas": 1}})
    for number in range(DOCUMENTS):
        made.ask(f"/{INDEX}/_doc/{number}", "PUT", {"number": number})
    made.until_green()
    yield made
    made.remove()


def connection(cluster: Secured, scheme: str) -> dict[str, Any]:
    """The options of a connection of the documented user by this scheme."""
    found = cluster.by_password()
    if scheme == "https":
        return found
    return {
        **{name: value for name, value in found.items() if name != "ca_cert"},
        "hosts": [cluster.url.replace("https:", "http:")],
    }


def processes(cluster: Secured) -> dict[str, str]:
    """Member \N{RIGHTWARDS ARROW} ephemeral id."""
    nodes = json.loads(cluster.ask("/_cluster/state/nodes"))["nodes"]
    return {node["name"]: node["ephemeral_id"] for node in nodes.values()}


@pytest.mark.parametrize(
    ("cluster", "turns"),
    [
        pytest.param("2.19.1", [False], id="2.19.1-off"),
        pytest.param("3.4.0", [False, True], id="3.4.0-off-and-on", marks=pytest.mark.soak),
    ],
    indirect=["cluster"],
)
def test_tls_is_switched(cluster: SwitchingSecured, turns: list[bool], ansible_environment: Mapping[str, str]) -> None:
    for on in turns:
        is_switched(cluster, ansible_environment, on=on)


def is_switched(cluster: SwitchingSecured, ansible_environment: Mapping[str, str], *, on: bool) -> None:
    """Fails unless a restart switches TLS at the REST port, and nothing is lost."""
    before, after = ("http", "https") if on else ("https", "http")
    first, pods = processes(cluster), cluster.fingerprint().pods
    given: dict[str, Any] = {
        "upgrade_namespace": cluster.namespace,
        "upgrade_kubernetes": {"kubeconfig": str(cluster.platform.kubeconfig(USER))},
        "upgrade_opensearch": {**connection(cluster, before), "after": connection(cluster, after)},
        "upgrade_configuration": [{"pool": POOL, "contents": with_tls(contents(cluster), on)}],
    }
    shown = play(RESTART, given, ansible_environment)
    digest = re.search(r"Plan (p\w{11})", shown.output)
    assert digest, shown.output
    assert f"Each member answers by {after} alone once it has restarted" in shown.output
    done = play(RESTART, {**given, "upgrade_confirm": digest[1]}, ansible_environment)
    print(done.output)
    assert done.code == 0, done.message
    assert {name for name in MEMBERS if processes(cluster)[name] != first[name]} == MEMBERS
    assert cluster.fingerprint().pods == pods
    cluster.until_green()
    cluster.ask(f"/{INDEX}/_refresh", "POST")
    assert json.loads(cluster.ask(f"/{INDEX}/_count"))["count"] == DOCUMENTS
    alone = {**given, "upgrade_opensearch": connection(cluster, after)}
    again = play(RESTART, alone, ansible_environment)
    assert (again.code, "Nothing to do" in again.output) == (0, True), again.output
