"""Definitions out of a Go module: only those of the very content that was pinned."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.lab.errors import LabError
from tests.sandbox import module_definitions
from tests.sandbox.module_definitions import ModuleDefinitions


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """The answer of the Go client, whose module is in a folder with two files."""
    monkeypatch.setenv("STATEFUL_UPGRADE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module_definitions, "toolchain", lambda _wanted, _tell: Path("go"))
    (tmp_path / "a.yaml").write_text("kind: A\n---\n---\nkind: B\n")
    (tmp_path / "c.yaml").write_text("kind: C\n")
    found = {"Sum": "h1:right=", "Dir": str(tmp_path)}

    def run(argv: list[str], **_options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(argv, 0, json.dumps(found), "")

    monkeypatch.setattr("subprocess.run", run)
    return found


PINNED = ModuleDefinitions("Some System", "example.com/some", "v1.0.0", "h1:right=", ("a.yaml", "c.yaml"))


def test_they_are_fetched_once_and_come_in_the_order_of_the_files(answer: dict[str, str]) -> None:
    assert [each["kind"] for each in PINNED.definitions()] == ["A", "B", "C"]
    answer.clear()
    assert [each["kind"] for each in PINNED.definitions()] == ["A", "B", "C"]
    assert PINNED.path().parent.name == "some-system"


def test_another_checksum_is_refused(answer: dict[str, str]) -> None:
    answer["Sum"] = "h1:other="
    with pytest.raises(LabError) as refused:
        PINNED.ensure_fetched(lambda _line: None)
    assert "has the checksum h1:other= instead of" in str(refused.value)
    assert not PINNED.path().exists()


def test_a_module_that_cannot_be_had_is_told_with_the_cause(answer: dict[str, str]) -> None:
    answer.clear()
    answer["Error"] = "no such host"
    with pytest.raises(LabError) as refused:
        PINNED.ensure_fetched(lambda _line: None)
    assert str(refused.value).endswith("could not be fetched: no such host.")
