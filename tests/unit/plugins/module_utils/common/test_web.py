"""A request to a web server: its certificate is verified, and a missing server is a cause in words."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.web import NoAnswer, fetch
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.proxy_server import proxying
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.tls_server import member


def test_a_certificate_that_nobody_vouches_for_is_no_answer(tmp_path: Path) -> None:
    with member(tmp_path, tls=True) as server, pytest.raises(NoAnswer, match="certificate verify failed"):
        fetch(f"https://127.0.0.1:{server.port}/", 5, 100)


def test_an_answer_is_read_up_to_its_limit(tmp_path: Path) -> None:
    with member(tmp_path, tls=False) as server:
        answer = fetch(f"http://127.0.0.1:{server.port}/page", 5, 5)
    assert (answer.status, answer.content) == (200, '{"pat')


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_a_proxy_that_refuses_is_the_cause(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with proxying(9, refuses=407) as proxy:
        monkeypatch.setenv(f"{scheme.upper()}_PROXY", proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with pytest.raises(NoAnswer, match=r"^the proxy http.* refuses access to search\.example\.com: it answers 407"):
            fetch(f"{scheme}://search.example.com/", 5, 100)


def test_nobody_there_is_a_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoAnswer, match="refused"):
        fetch("http://127.0.0.1:9/", 5, 100)
    monkeypatch.setenv("HTTPS_PROXY", "ftp://proxy.example.com")
    with pytest.raises(Refusal, match="The proxy of the environment cannot be used"):
        fetch("https://search.example.com/", 5, 100)
