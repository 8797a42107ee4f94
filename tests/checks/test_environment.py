"""The development environment is made once, whole, and again for another lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks import environment
from tests.checks.environment import EnvironmentProblem, ensure, environment_path


@pytest.fixture
def empty_lock(tmp_path: Path) -> Path:
    """A lock that names nothing, so that nothing is fetched."""
    lock = tmp_path / "dev.lock"
    lock.write_text("# nothing\n")
    return lock


def test_what_an_interrupted_run_left_is_thrown_away_and_a_whole_one_stays(tmp_path: Path, empty_lock: Path) -> None:
    path = tmp_path / "venv"
    (path / "bin").mkdir(parents=True)
    (path / "half").touch()
    python = ensure(path, empty_lock)
    assert python.exists()
    assert not (path / "half").exists()
    (path / "kept").touch()
    assert ensure(path, empty_lock) == python
    assert (path / "kept").exists()


def test_a_lock_that_cannot_be_installed_leaves_nothing_that_looks_whole(tmp_path: Path, empty_lock: Path) -> None:
    empty_lock.write_text("no-checksum==1\n")
    with pytest.raises(EnvironmentProblem) as refused:
        ensure(tmp_path / "venv", empty_lock)
    assert "dev.lock" in str(refused.value)
    assert not (tmp_path / "venv" / "complete").exists()


def test_a_python_that_is_not_supported(tmp_path: Path, empty_lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "TOO_NEW", (3, 11))
    with pytest.raises(EnvironmentProblem) as refused:
        ensure(tmp_path / "venv", empty_lock)
    assert "PYTHON=" in str(refused.value)


def test_another_lock_is_another_environment(tmp_path: Path, empty_lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATEFUL_UPGRADE_CACHE", str(tmp_path))
    before = environment_path(empty_lock)
    assert before.parent == tmp_path
    assert environment_path(empty_lock) == before
    empty_lock.write_text("# something\n")
    assert environment_path(empty_lock) != before
