"""The proxy that a connection goes through, by tables."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.proxies import is_spared, parse_proxy, proxy_for

URL = "https://search.example.com:9200"


@pytest.mark.parametrize(
    ("given", "no_proxy", "environment", "url"),
    [
        (None, None, {}, None),
        ("http://p:3128", None, {}, "http://p:3128"),
        ("p:3128", None, {}, "http://p:3128"),
        (None, None, {"HTTPS_PROXY": "http://e:1"}, "http://e:1"),
        (None, None, {"https_proxy": "http://small:1", "HTTPS_PROXY": "http://big:1"}, "http://small:1"),
        (None, None, {"HTTP_PROXY": "http://e:1"}, None),
        (None, None, {"ALL_PROXY": "http://e:1"}, "http://e:1"),
        ("http://p:3128", None, {"HTTPS_PROXY": "http://e:1"}, "http://p:3128"),
        ("http://p:3128", None, {"NO_PROXY": "example.com"}, None),
        ("http://p:3128", "", {"NO_PROXY": "example.com"}, "http://p:3128"),
        (None, "other.com", {"HTTPS_PROXY": "http://e:1", "NO_PROXY": "example.com"}, "http://e:1"),
    ],
)
def test_what_the_user_says_goes_before_the_environment(
    given: str | None, no_proxy: str | None, environment: dict[str, str], url: str | None
) -> None:
    proxy = proxy_for(URL, given, no_proxy, environment)
    assert (proxy.url if proxy else None) == url


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.3.2.1", "[::1]"])
def test_this_machine_is_reached_through_a_proxy_only_where_the_user_says_so(host: str) -> None:
    environment = {"HTTP_PROXY": "http://e:1"}
    assert proxy_for(f"http://{host}:9200", None, None, environment) is None
    assert proxy_for(f"http://{host}:9200", "http://p:1", None, environment) is not None


@pytest.mark.parametrize(
    ("no_proxy", "spared"),
    [
        ("*", True),
        ("example.com", True),
        (".example.com", True),
        ("*.example.com", True),
        ("SEARCH.example.com", True),
        ("ample.com", False),
        ("other.com, search.example.com", True),
        ("search.example.com:9200", True),
        ("search.example.com:9300", False),
        ("10.0.0.0/8", False),
        (", ,", False),
    ],
)
def test_names_that_are_spared(no_proxy: str, spared: bool) -> None:
    assert is_spared("search.example.com", 9200, no_proxy) is spared


@pytest.mark.parametrize(
    ("host", "no_proxy", "spared"),
    [
        ("10.1.2.3", "10.0.0.0/8", True),
        ("11.1.2.3", "10.0.0.0/8", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.3:9200", True),
        ("10.1.2.3", "10.1.2.3:1", False),
        ("fd00::1", "fd00::/8", True),
    ],
)
def test_addresses_that_are_spared(host: str, no_proxy: str, spared: bool) -> None:
    assert is_spared(host, 9200, no_proxy) is spared


def test_credentials_are_not_shown() -> None:
    proxy = parse_proxy("http://me:se%40cret@proxy.example.com:3128/")
    assert (proxy.url, proxy.credentials) == ("http://proxy.example.com:3128", "me:se@cret")
    assert (proxy.host, proxy.port) == ("proxy.example.com", 3128)
    assert "cret" not in repr(proxy)


@pytest.mark.parametrize(
    "text",
    [
        *("socks5://me:secret@p:1", "http://me:secret@", "http://me:secret@p:port"),
        *("http://me:[secret]@p:1", "http://me:secret\u2100@p:1"),
    ],
)
def test_what_is_no_http_proxy_is_refused_without_its_secrets(text: str) -> None:
    with pytest.raises(ValueError, match="proxy") as caught:
        parse_proxy(text)
    assert "secret" not in str(caught.value)
