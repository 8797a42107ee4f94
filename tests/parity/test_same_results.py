"""One list of tasks, run in the controller process, with another Python, and over another connection."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret

from .playbook_runner import ELSEWHERE, HERE, OTHER_PYTHON, PlaybookRunner, Played, comparable

MODULE = "parity.fixture.every_feature"
SECRETS = ("pa55word-Zx", "tok-3n", "s3cr3t-key", "987654", "from the vault", "fallback-pw", "fallback-tok")
GIVEN: dict[str, Any] = {
    "password": SECRETS[0],
    "connection": {"token": SECRETS[1]},
    "keys": [{"name": "k", "secret": SECRETS[2]}],
    "pin": int(SECRETS[3]),
}
SOON = {"wait_timeout": 1, "wait_sleep": 0.1}

ARGUMENTS: dict[str, Any] = {
    "nothing given": {},
    "every kind of secret": GIVEN,
    "types converted": {"size": "5", "ratio": "0.25", "wait": "no", "names": "a,b", "connection": {"port": "9300"}},
    "a dictionary as text": {"connection": f"host=a token={SECRETS[1]} port=1"},
    "templates": {"names": ["{{ word }}", "{{ 2 + 3 }}"], "anything": {"a": ["{{ tree }}", 1, None, True, 2.5]}},
    "a date": {"anything": "{{ '2026-01-02' | to_datetime('%Y-%m-%d') }}"},
    "names of a dictionary": {"anything": "{{ {1: 'one', 'two': {'three': 3}} }}"},
    "other letters": {"names": ["grüße", "日本", "a\tb\nc"]},
    "a value from a vault": {"password": "{{ vaulted }}", "anything": "{{ vaulted }}", "names": ["x {{ vaulted }} y"]},
    "an omitted option": {"size": "{{ omit }}", "connection": {"host": "{{ omit }}", "port": 1}},
    "paths": {"file": "~/x/$PARITY_FOLDER/y", "connection": {"ca_cert": "$PARITY_FOLDER/ca"}},
    "aliases": {"amount": 3, "connection": {"url": "u"}},
    "option and alias": {"amount": 3, "size": 4, "connection": {"url": "u", "host": "h"}},
    "a deprecated option": {"old": "x"},
    "a deprecated alias": {"former": "x"},
    "unsupported": {"sizes": 1, "colour": "red", "password": SECRETS[0]},
    "unsupported suboption": {"connection": {"hots": "a", "token": SECRETS[1]}},
    "required if": {"state": "absent"},
    "required together": {"left": "a"},
    "mutually exclusive": {"one": "a", "other": "b"},
    "bad choice": {"state": SECRETS[0], "password": SECRETS[0]},
    "bad type": {"size": "many"},
    "bad type of a suboption": {"connection": {"port": "many"}},
    "bad elements": {"numbers": [1, "many"]},
    "secret of a bad type": {"pin": SECRETS[0], "password": SECRETS[0]},
    "refused": {"do": "refuse", **GIVEN},
    "a bug": {"do": "crash", **GIVEN},
    "no plain data": {"do": "unserializable", **GIVEN},
    "a warning": {"do": "warn", **GIVEN},
    "libraries talk": {"do": "print", **GIVEN},
    "progress": {"do": "talk", **GIVEN},
    "a look without waiting": {"do": "wait", "wait": False},
    "a wait that runs out": {"do": "wait", **SOON},
}

KEYWORDS: dict[str, Any] = {
    "check mode": {MODULE: GIVEN, "check_mode": True},
    "diff mode off": {MODULE: GIVEN, "diff": False},
    "environment": {
        MODULE: {"file": "$PARITY_FOLDER/z"},
        "environment": {
            "PARITY_HOST": "{{ word }}-host",
            "PARITY_TOKEN": "fallback-tok",
            "PARITY_PASSWORD": "fallback-pw",
            "PARITY_FOLDER": "folder",
            "PARITY_NUMBER": 5,
        },
    },
    "environment is gone": {MODULE: {}},
    "environment of the wrong kind": {MODULE: {}, "environment": "{{ word }}"},
    "hidden": {MODULE: GIVEN, "no_log": True},
    "hidden refusal": {MODULE: {"do": "refuse", **GIVEN}, "no_log": True},
    "module defaults": {
        MODULE: {"size": 2},
        "module_defaults": {"group/parity.fixture.all": {"password": SECRETS[0], "size": 1, "names": ["default"]}},
    },
    "a loop": {MODULE: {"password": "{{ words[item] }}", "anything": "{{ words[item] }}"}, "loop": [0, 2]},
    "until": {MODULE: GIVEN, "until": "false", "retries": 1, "delay": 0},
    "failed when": {MODULE: {"do": "refuse"}, "failed_when": False},
    "time is up": {MODULE: {"do": "wait", "wait_timeout": 5}, "timeout": 1},
    "afterwards": {MODULE: {}},
    "asynchronous": {MODULE: GIVEN, "async": 60, "poll": 1},
    "delegated": {MODULE: GIVEN, "delegate_to": "localhost"},
}

TASKS = [
    *({"name": name, MODULE: arguments} for name, arguments in ARGUMENTS.items()),
    *({"name": name, **task} for name, task in KEYWORDS.items()),
]
NAMES = [task["name"] for task in TASKS]
OTHER_WORDS = {"time is up", "no plain data"}
"""Failures of both forms that ansible-core reports in different words for a process and for a plugin."""

ELSEWHERE_TOO = ("every kind of secret", "unsupported", "refused", "environment", "check mode")
"""Enough to know that a connection that is not local gets the same shipped module."""

COMPARED = [name for name in NAMES if name not in OTHER_WORDS]


def play_all(runner: PlaybookRunner, host: str, *options: str, names: Collection[str] = NAMES) -> Played:
    """All tasks, or those named, on one host."""
    password = runner.directory / "vault-password"
    password.write_text("opens the vault", encoding="utf-8")
    secret = VaultLib([("default", VaultSecret(b"opens the vault"))]).encrypt("from the vault").decode()
    indented = secret.strip().replace("\n", "\n  ")
    variables = runner.directory / "variables.yml"
    variables.write_text(f"vaulted: !vault |\n  {indented}\n", encoding="utf-8")
    return runner.play(
        [task for task in TASKS if task["name"] in names],
        host,
        options=["--diff", "--vault-password-file", str(password), *options],
        vars_files=[str(variables)],
        vars={"word": "hello", "words": SECRETS, "tree": {"deep": ["x", {"y": 1}]}},
        environment=[{"PARITY_FOLDER": "nothing"}, {"PARITY_FOLDER": "play-folder"}],
    )


@pytest.fixture(scope="module")
def here(runner: PlaybookRunner) -> Played:
    """In the controller process."""
    return play_all(runner, HERE)


@pytest.fixture(scope="module")
def other_python(runner: PlaybookRunner) -> Played:
    """Shipped, because another Python is asked for."""
    return play_all(runner, OTHER_PYTHON)


@pytest.fixture(scope="module")
def elsewhere(runner: PlaybookRunner) -> Played:
    """Shipped, because the connection is not local."""
    return play_all(runner, ELSEWHERE, names=ELSEWHERE_TOO)


@pytest.mark.parametrize("name", COMPARED)
def test_same_with_another_python(here: Played, other_python: Played, name: str) -> None:
    assert comparable(here.results[name]) == comparable(other_python.results[name])


@pytest.mark.parametrize("name", ELSEWHERE_TOO)
def test_same_over_another_connection(here: Played, elsewhere: Played, name: str) -> None:
    assert comparable(here.results[name]) == comparable(elsewhere.results[name])


def test_the_same_tasks_fail(here: Played, other_python: Played) -> None:
    failed = {name for name in NAMES if here.results[name]["status"] == "failed"}
    assert failed == {name for name in NAMES if other_python.results[name]["status"] == "failed"}
    assert {"unsupported", "refused", "a bug", "time is up", "required if", "a wait that runs out"} <= failed
    assert not {"nothing given", "every kind of secret", "environment", "asynchronous", "afterwards"} & failed


def test_only_tasks_here_talk(here: Played, other_python: Played, elsewhere: Played) -> None:
    assert "[here] two lines" in here.lines
    assert (other_python.lines, elsewhere.lines) == ([], [])


def test_no_secret_anywhere(here: Played, other_python: Played, elsewhere: Played) -> None:
    for played in (here, other_python, elsewhere):
        everything = played.output + json.dumps(played.results)
        assert [secret for secret in SECRETS if secret in everything] == []
        assert "********" in everything


def test_no_secret_in_verbose_output(runner: PlaybookRunner) -> None:
    verbose = play_all(runner, HERE, "-vvvv")
    assert "module_args" in verbose.stdout
    assert "libraries said" in verbose.stdout
    everything = verbose.output + json.dumps(verbose.results)
    assert [secret for secret in SECRETS if secret in everything] == []


def test_expected_values(here: Played, runner: PlaybookRunner) -> None:
    """The comparisons above would also pass if both forms were wrong in the same way."""
    results = here.results
    home = str(runner.directory)
    assert results["paths"]["params"]["file"] == f"{home}/x/play-folder/y"
    assert results["paths"]["params"]["connection"]["ca_cert"] == "play-folder/ca"
    assert results["environment"]["params"]["connection"]["host"] == "hello-host"
    assert results["environment"]["params"]["file"] == "folder/z"
    assert results["environment"]["environment"]["PARITY_NUMBER"] == "5"
    assert results["environment is gone"]["params"]["connection"]["host"] is None
    assert results["environment is gone"]["environment"]["PARITY_NUMBER"] is None
    assert results["module defaults"]["params"]["names"] == ["default"]
    assert results["module defaults"]["params"]["size"] == 2
    assert results["check mode"]["actions"] == []
    assert "diff" not in results["diff mode off"]
    assert results["nothing given"]["here"] == home
    assert results["nothing given"]["params"]["connection"]["port"] == 9200
    assert results["aliases"]["params"]["size"] == 3
    assert results["a value from a vault"]["types"]["password"] == "str"


def test_expected_errors(here: Played) -> None:
    errors = {name: here.results[name].get("msg", "") for name in NAMES}
    assert errors["unsupported"].startswith(f"Unsupported parameters for ({MODULE}) module: colour, sizes. Supported")
    assert errors["unsupported suboption"].startswith(f"Unsupported parameters for ({MODULE}) module: connection.hots")
    assert errors["required if"] == "state is absent but all of the following are missing: size"
    assert errors["mutually exclusive"] == "parameters are mutually exclusive: one|other"
    assert errors["refused"].startswith("The secret ********, ********, ********, ******** is not accepted.")
    assert errors["a bug"].startswith("This is a bug in stateful.upgrade: KeyError: ")
    assert errors["no plain data"].startswith("This is a bug in stateful.upgrade: TypeError: ")


def test_warnings_and_deprecations(here: Played) -> None:
    assert here.results["a warning"]["warnings"] == ["Beware of ********, ********, ********, ********"]
    both = here.results["option and alias"]["warnings"]
    assert "Both option size and its alias amount are set." in both
    assert any("connection.host" in line for line in both)
    assert "old" in here.results["a deprecated option"]["deprecations"][0]["msg"]
    assert "former" in here.results["a deprecated alias"]["deprecations"][0]["msg"]
    assert "errantly" not in here.output


def test_progress_lines(here: Played) -> None:
    assert "[here] first word ******** ******** ******** ******** last word" in here.lines
    whole = f"[here] {'x' * 180}******** ******** ******** ********{'y' * 180}"
    assert max(here.lines, key=len) == whole, "only a terminal cuts its lines"
    assert sum("flood" in line for line in here.lines) < 20
    assert any(line.endswith("lines left out)") for line in here.lines)
    assert not any("It does not come." in line for line in here.lines), "a short wait is no line"


def test_the_fixture_uses_the_base_of_the_checkout(runner: PlaybookRunner) -> None:
    linked = runner.directory / "collections/ansible_collections/parity/fixture/plugins/plugin_utils/in_process.py"
    assert linked.resolve() == Path(__file__).resolve().parents[2] / "plugins" / "plugin_utils" / "in_process.py"
