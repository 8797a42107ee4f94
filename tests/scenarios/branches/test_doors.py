"""Bad input about the doors of both APIs, with TLS, passwords and an environment, all of them real."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.cluster import Cluster
from tests.scenarios.preconditions import POOL
from tests.scenarios.refusing import NARROW, SECRET, TO, Refuse, Run
from tests.scenarios.tls_proxy import TlsProxy, tls_proxy_of

pytestmark = pytest.mark.own_process

PACKAGES = ("kubernetes", "urllib3")
SOAK = [pytest.mark.soak]
"""One of several cases that are judged alike is enough here. The judges have tests of all."""


@pytest.mark.parametrize("names", [PACKAGES, *(pytest.param((each,), marks=SOAK) for each in PACKAGES)])
def test_a_missing_python_package(names: tuple[str, ...], refuse: Refuse, tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).mkdir()
        absent = f"raise ModuleNotFoundError({f'No module named {name!r}'!r})\n"
        (tmp_path / name / "__init__.py").write_text(absent, encoding="utf-8")
    said = refuse(environment={"PYTHONPATH": str(tmp_path)}, says=tuple(f"No module named '{name}'" for name in names))
    for name in names:
        assert f"The Python package {name} cannot be imported" in said
        assert f"-m pip install {name}`" in said


@pytest.fixture(scope="module")
def tls_proxy(standing: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsProxy]:
    """The standing cluster behind a door with a lock."""
    with tls_proxy_of(standing.url, tmp_path_factory.mktemp("tls_proxy")) as tls_proxy:
        yield tls_proxy


def through(tls_proxy: TlsProxy, **changes: Any) -> dict[str, Any]:
    """The right options, but for the changes."""
    right = {"hosts": [tls_proxy.url], "username": tls_proxy.username, "password": tls_proxy.password}
    options = {**right, "ca_cert": str(tls_proxy.ca_cert), **changes}
    return {name: value for name, value in options.items() if value is not None}


def test_a_wrong_password(tls_proxy: TlsProxy, refuse: Refuse) -> None:
    says = (f"cluster at {tls_proxy.url} did not accept the password of the user upgrade", "opensearch.password")
    refuse(upgrade_opensearch=through(tls_proxy, password=SECRET), says=says)


def test_no_password(tls_proxy: TlsProxy, refuse: Refuse) -> None:
    says = (f"cluster at {tls_proxy.url}", "no username is given", "opensearch.username")
    refuse(upgrade_opensearch=through(tls_proxy, username=None, password=None), says=says)


def test_a_certificate_that_nobody_vouches_for(tls_proxy: TlsProxy, refuse: Refuse) -> None:
    says = (
        f"certificate of the search cluster at {tls_proxy.url} is not accepted",
        "verify failed",
        "Set upgrade_opensearch.ca_cert",
    )
    refuse(upgrade_opensearch=through(tls_proxy, ca_cert=None), says=says)


def test_a_ca_file_that_does_not_exist(tls_proxy: TlsProxy, refuse: Refuse) -> None:
    says = ("The file nowhere.crt (upgrade_opensearch.ca_cert) does not exist", "upgrade_opensearch.ca_cert")
    refuse(upgrade_opensearch=through(tls_proxy, ca_cert="nowhere.crt"), says=says)


def test_http_where_https_is_spoken(standing: Cluster, tls_proxy: TlsProxy, run: Run) -> None:
    """A pass, since a run waits for such a server as for one that is restarting."""
    before, plain = standing.fingerprint(), tls_proxy.url.replace("https:", "http:")
    played = run(TO, upgrade_opensearch=through(tls_proxy, hosts=[plain]), upgrade_wait=False)
    assert all(each in played.output for each in (plain, "cannot be reached", "https://"))
    assert standing.fingerprint() == before


def test_https_where_http_is_spoken(standing: Cluster, refuse: Refuse) -> None:
    url = standing.url.replace("http:", "https:")
    refuse(upgrade_opensearch={"hosts": [url]}, says=(f"search cluster at {url} cannot be made", "http://"))


def test_credentials_from_the_environment_are_taken_and_never_shown(
    standing: Cluster, tls_proxy: TlsProxy, run: Run
) -> None:
    before = standing.fingerprint()
    environment = tls_proxy.environment()
    played = run(TO, "--check", "--diff", "-vvv", environment=environment, without=("upgrade_opensearch",), **NARROW)
    assert played.code == 0
    assert f"batch-01.{POOL}-1" in played.output
    assert tls_proxy.url in played.output, "shown verbosely, or the next line proves nothing"
    assert tls_proxy.password not in played.output
    assert standing.fingerprint() == before


def test_an_api_server_that_nobody_vouches_for(standing: Cluster, refuse: Refuse) -> None:
    with standing.platform.client() as api:
        refuse(
            upgrade_kubernetes={"host": api.configuration.host, "api_key": SECRET},
            says=(f"Kubernetes API at {api.configuration.host}", "certificate", "Set upgrade_kubernetes.ca_cert"),
        )
