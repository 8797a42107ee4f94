"""The command that lets a cluster stay: what it refuses, before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.demo.cluster import main


def test_only_the_folder_of_a_cluster_is_taken_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").touch()
    assert main(["down", "--directory", str(tmp_path)]) == 1
    assert "is not the directory of a lab" in capsys.readouterr().err
    assert (tmp_path / "mine").exists()


def test_a_version_without_a_lock_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["up", "--version", "1.0.0"])
    assert "invalid choice: '1.0.0'" in capsys.readouterr().err
