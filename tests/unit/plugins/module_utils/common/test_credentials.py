"""Credentials: sent in UTF-8, refused in URLs, masked wherever arguments are shown."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.credentials import (
    judge_exposure,
    refuse_in_address,
    secrets_of_addresses,
    sendable,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.proxies import basic, parse_proxy


@pytest.mark.parametrize("password", ["plain", "pässwört", "za\u017c\u00f3\u0142\u0107", "with:colon", "\U0001f511"])
def test_passwords_are_sent_in_utf_8(password: str) -> None:
    for value in (basic(f"me:{password}"), parse_proxy(f"http://me:{password}@p").headers()["proxy-authorization"]):
        assert b64decode(value.removeprefix("Basic ")).decode("utf-8") == f"me:{password}"


@pytest.mark.parametrize(
    "address",
    [
        "https://me:hunter2@search:9200",
        "me:hunter2@search:9200",
        "https://me:hunter2/x@search:9200",
        "https://me:hunter2@x@search",
        "https://hunter2@search",
    ],
)
def test_a_url_with_credentials_is_refused_and_masked(address: str) -> None:
    with pytest.raises(Refusal) as caught:
        refuse_in_address(address, "opensearch.hosts", "opensearch.username")
    assert caught.value.verdict.reasons[0].code == "credentials_in_url"
    assert "hunter2" not in str(caught.value)
    for params in ({"opensearch": {"hosts": ["https://other", address]}}, {"kubernetes": {"host": address}}):
        masked = address
        for secret in sorted(secrets_of_addresses(params), key=len, reverse=True):
            masked = masked.replace(secret, "***")
        assert "hunter2" not in masked


def test_a_url_without_credentials_is_left_alone() -> None:
    refuse_in_address("https://search.example.com:9200/path", "opensearch.hosts", "opensearch.username")


@pytest.mark.parametrize(
    "params",
    [{}, {"opensearch": None}, {"opensearch": {"hosts": None}}, {"kubernetes": "text"}, {"opensearch": {"hosts": "x"}}],
)
def test_arguments_without_credentials_hold_no_secret(params: dict[str, Any]) -> None:
    assert secrets_of_addresses(params) == frozenset()


def test_a_password_is_masked_as_it_is_written_and_as_it_is_meant() -> None:
    assert secrets_of_addresses({"kubernetes": {"host": "https://me:p%40ss@api"}}) == {"me:p%40ss", "p%40ss", "p@ss"}


@pytest.mark.parametrize("token", ["Bearer hunter2\nmore", "Bearer h\u00fcnter2", "Bearer hunter2\x00"])
def test_a_token_that_no_header_can_hold_is_refused_without_it(token: str) -> None:
    with pytest.raises(Refusal) as caught:
        sendable(token)
    assert "nter2" not in str(caught.value)


def test_the_line_end_of_a_token_file_is_no_part_of_the_token() -> None:
    assert sendable("Bearer hunter2\n") == "Bearer hunter2"


@pytest.mark.parametrize(
    ("sent", "address", "verified", "codes"),
    [
        ("It", "https://search.example.com:9200", True, []),
        ("It", "https://search.example.com:9200", False, ["credentials_unverified"]),
        ("It", "http://search.example.com:9200", True, ["credentials_unencrypted"]),
        ("It", "HTTP://search.example.com:9200", False, ["credentials_unencrypted"]),
        ("", "http://search.example.com:9200", False, []),
        ("It", "http://127.0.0.1:9200", True, []),
        ("It", "https://localhost:6443", False, []),
    ],
)
def test_what_others_could_read_is_a_remark(sent: str, address: str, verified: bool, codes: list[str]) -> None:
    verdict = judge_exposure(sent, address, verified)
    assert verdict.passed
    assert [reason.code for reason in verdict.reasons] == codes
