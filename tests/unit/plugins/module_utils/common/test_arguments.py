"""Options that come from the environment."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.stateful.upgrade.plugins.module_utils.common.arguments import KUBERNETES, OPENSEARCH

VARIABLES = {
    "OPENSEARCH_HOSTS": "hosts",
    "OPENSEARCH_USERNAME": "username",
    "OPENSEARCH_PASSWORD": "password",
    "OPENSEARCH_CA_CERT": "ca_cert",
    "OPENSEARCH_CLIENT_CERT": "client_cert",
    "OPENSEARCH_CLIENT_KEY": "client_key",
}


def taken(**environment: str) -> dict[str, Any]:
    """The options of both connections, with these variables in the environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        result = ArgumentSpecValidator({**KUBERNETES, **OPENSEARCH}).validate({})
    assert result.error_messages == []
    return dict(result.validated_parameters)


def test_each_variable_sets_its_option() -> None:
    options = taken(**{name: f"/{name}" for name in VARIABLES})["opensearch"]
    expected = {option: f"/{name}" for name, option in VARIABLES.items()}
    assert {**expected, "hosts": ["/OPENSEARCH_HOSTS"]}.items() <= options.items()


def test_an_empty_variable_counts_as_not_given() -> None:
    """A credential of AWX sets all of its variables, also those of fields that were left empty."""
    empty = dict.fromkeys([*VARIABLES, "K8S_AUTH_HOST", "K8S_AUTH_SSL_CA_CERT", "K8S_AUTH_VERIFY_SSL"], "")
    options = taken(OPENSEARCH_URL="https://search", **empty)
    assert options["opensearch"]["hosts"] == ["https://search"]
    assert {options["opensearch"][name] for name in VARIABLES.values() if name != "hosts"} == {None}
    assert (options["kubernetes"]["host"], options["kubernetes"]["validate_certs"]) == (None, True)
