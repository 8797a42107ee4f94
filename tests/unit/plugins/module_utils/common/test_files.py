"""A file that is replaced as a whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.files import replace_file


def test_the_content_is_on_the_disk_before_the_name_and_then_the_name_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a loss of power a name without its content would be an empty file."""
    done: list[str] = []
    sync, rename = os.fsync, os.replace

    def syncing(descriptor: int) -> None:
        done.append("folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file")
        sync(descriptor)

    def replacing(old: str, new: str) -> None:
        done.append("name")
        rename(old, new)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "replace", replacing)
    place = tmp_path / "kept"
    replace_file(str(place), "one\n")
    assert (done, place.read_text()) == (["file", "name", "folder"], "one\n")
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "kept"
    place.write_text("one")

    def fails(_descriptor: int) -> None:
        raise OSError(5, "the disk is broken")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="broken"):
        replace_file(str(place), "two")
    assert (place.read_text(), [*tmp_path.iterdir()]) == ("one", [place])


def test_a_folder_that_cannot_be_synced_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = os.fsync

    def of_files(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(22, "this file system syncs no folders")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", of_files)
    replace_file(str(tmp_path / "kept"), "two")
    assert (tmp_path / "kept").read_text() == "two"


def test_the_mode_of_the_file_before_is_kept_if_that_is_wanted(tmp_path: Path) -> None:
    place = tmp_path / "kept"
    place.write_text("one")
    place.chmod(0o640)
    replace_file(str(place), "two", keep_mode=True)
    assert place.stat().st_mode & 0o777 == 0o640
