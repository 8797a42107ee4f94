"""Arguments: plain as JSON makes them, checked as AnsibleModule checks them."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import pytest
from ansible.module_utils.basic import env_fallback
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Contract
from ansible_collections.stateful.upgrade.plugins.plugin_utils.arguments_check import check_arguments, plain

CONTRACT = Contract(
    argument_spec={
        "name": {"type": "str", "required": True, "aliases": ["title"]},
        "password": {"type": "str", "no_log": True, "fallback": (env_fallback, ["UNIT_PASSWORD"])},
        "inner": {"type": "dict", "apply_defaults": True, "options": {"key": {"type": "str", "no_log": True}}},
        "size": {"type": "int", "default": 3},
        "old": {"type": "str", "removed_in_version": "9.0.0", "removed_from_collection": "a.b"},
    },
    required_together=[("size", "old")],
)


def test_credentials_in_a_url_are_secrets() -> None:
    contract = Contract(argument_spec={"kubernetes": {"type": "dict", "options": {"host": {"type": "str"}}}})
    for given in ({"host": "https://me:hidden@api"}, {"host": "https://me:hidden@api", "unknown": 1}):
        assert "me:hidden" in check_arguments(contract, "some.module", {"kubernetes": given}).secrets


def test_a_secret_is_one_also_in_the_form_in_which_sentences_hold_it() -> None:
    assert {"two\nlines", "two lines"} <= check_arguments(
        CONTRACT, "some.module", {"name": "n", "password": "two\nlines"}
    ).secrets


class Encrypted:
    """A value from a vault, as ansible-core keeps it until it is read."""

    _ciphertext = "$ANSIBLE_VAULT;1.1;AES256"

    def __str__(self) -> str:
        return "decrypted"


class Tagged(str):
    """Text that carries more than text."""


@dataclass(frozen=True)
class Warned:
    """A warning in a result, as ansible-core keeps it since 2.19."""

    said: str


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (("a", 1, 2.5, None, True), ["a", 1, 2.5, None, True]),
        ({1: "one"}, {"1": "one"}),
        ({"deep": [Tagged("x")]}, {"deep": ["x"]}),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.datetime(2026, 1, 2, 3, 4), "2026-01-02T03:04:00"),
        ({"secret": Encrypted()}, {"secret": "decrypted"}),
        ({"one": {"only"}}, {"one": ["only"]}),
        ({"warnings": [Warned("late")]}, {"warnings": [{"said": "late"}]}),
    ],
)
def test_plain(value: object, expected: object) -> None:
    assert plain(value) == expected


def test_plain_text_is_only_text() -> None:
    assert plain(Tagged("x")).__class__ is str
    assert plain([Tagged("x")])[0].__class__ is str


def test_what_json_cannot_tell_is_refused() -> None:
    with pytest.raises(TypeError, match="a value of type object cannot be given"):
        plain({"a": object()})


def check(**arguments: Any) -> Any:
    """The arguments checked for a module named a.b.c."""
    return check_arguments(CONTRACT, "a.b.c", arguments)


def test_defaults_aliases_and_types() -> None:
    checked = check(title="x", size="5", old="o")
    assert checked.error == ""
    assert (checked.params["name"], checked.params["size"], checked.params["inner"]) == ("x", 5, {"key": None})


def test_secrets_are_found_wherever_they_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNIT_PASSWORD", "of the environment")
    assert check(name="x", old="o", inner={"key": "inner one"}).secrets == {"of the environment", "inner one"}


def test_the_task_s_own_arguments_are_left_alone() -> None:
    arguments = {"title": "x", "old": "o", "inner": {}}
    check_arguments(CONTRACT, "a.b.c", arguments)
    assert arguments == {"title": "x", "old": "o", "inner": {}}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, "missing required arguments: name"),
        ({"name": "x", "size": "many", "old": "o"}, "argument 'size' is of type"),
        ({"name": "x", "old": "o", "none": 1}, "Unsupported parameters for (a.b.c) module: none. Supported parameters"),
        ({"name": "x", "old": "o", "inner": {"no": 1}}, "Unsupported parameters for (a.b.c) module: inner.no. Support"),
        ({"name": "x", "inner": "k", "old": "o"}, "dictionary requested, could not parse JSON or key=value"),
    ],
)
def test_errors(arguments: dict[str, Any], error: str) -> None:
    assert check_arguments(CONTRACT, "a.b.c", arguments).error.startswith(error)


def test_relations_are_checked() -> None:
    contract = Contract(argument_spec={"a": {}, "b": {}}, mutually_exclusive=[("a", "b")])
    assert check_arguments(contract, "m", {"a": 1, "b": 2}).error == "parameters are mutually exclusive: a|b"


def test_warnings_and_deprecations() -> None:
    checked = check(name="x", title="y", old="o")
    assert "Both option name and its alias title are set." in checked.warnings
    assert checked.deprecations == (
        {
            "msg": "Param 'old' is deprecated. See the module docs for more information",
            "version": "9.0.0",
            "collection_name": "a.b",
        },
    )
