"""The files that belong to the project, and those in the archive for users."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.checks.build import NEEDED, problems
from tests.checks.tree import COLLECTION, copy_project, project_files


def _project(root: Path) -> Path:
    for name in ("galaxy.yml", "plugins/modules/x.py", ".ci/run", "plugins/__pycache__/x.pyc", ".mypy_cache/x.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("text")
    (root / ".gitignore").write_text("__pycache__/\n.mypy_cache/\n")
    return root


OURS = {".ci/run", ".gitignore", "galaxy.yml", "plugins/modules/x.py"}


def test_without_git(tmp_path: Path) -> None:
    assert {str(path) for path in project_files(_project(tmp_path))} == OURS


@pytest.mark.skipif(shutil.which("git") is None, reason="Git is not installed")
def test_with_git_new_files_count_and_deleted_ones_do_not(tmp_path: Path) -> None:
    root = _project(tmp_path)
    (root / "gone.py").write_text("")
    for command in (["init", "-q"], ["add", "galaxy.yml", "gone.py"]):
        subprocess.run(["git", "-C", str(root), *command], check=True)
    (root / "gone.py").unlink()
    assert {str(path) for path in project_files(root)} == OURS


def test_the_copy_stands_where_tools_look_for_it(tmp_path: Path) -> None:
    root = _project(tmp_path / "checkout")
    copy = copy_project(tmp_path / "copy", root)
    assert copy == tmp_path / "copy" / COLLECTION
    assert (copy / "plugins/modules/x.py").read_text() == "text"
    assert not (copy / ".mypy_cache").exists()


def test_the_archive_for_users() -> None:
    assert not problems([*NEEDED, "plugins/modules/x.py"])
    assert problems([*NEEDED, "tests/unit/test_x.py"])
    assert problems(["LICENSE"])
