"""Records as files: one version after the other, written only over the one that was read, and private."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Conflict, Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_files import LONGEST, Files

NAME = "stateful-upgrade-0a1b2c3d4e"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "state" / "upgrades")


def names(files: Files) -> list[str]:
    return sorted(path.name for path in files.folder.iterdir())


def written(files: Files, *texts: str, name: str = NAME) -> None:
    for text in texts:
        files.write(name, text, "", files.read(name))


def code_of(refused: pytest.ExceptionInfo[Refusal]) -> str:
    return refused.value.verdict.reasons[0].code


def test_what_is_written_is_read_and_nobody_else_can(files: Files) -> None:
    before = os.umask(0)
    try:
        assert (files.read(NAME), files.find().kept) == (None, {})
        written(files, "one")
    finally:
        os.umask(before)
    kept = files.read(NAME)
    assert kept is not None
    path = files.folder / f"{NAME}.1.json"
    assert (kept.text, kept.where, kept.version) == ("one", f"file {path}", "1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(files.folder.stat().st_mode) == 0o700


def test_the_highest_number_is_the_record_and_the_last_two_are_kept(files: Files) -> None:
    written(files, *(str(number) for number in range(1, 13)))
    kept = files.read(NAME)
    assert kept is not None
    assert (kept.text, kept.version) == ("12", "12")
    assert names(files) == [f"{NAME}.11.json", f"{NAME}.12.json"]


def test_a_folder_that_is_there_keeps_its_mode(files: Files) -> None:
    files.folder.mkdir(parents=True, mode=0o750)
    written(files, "one")
    assert stat.S_IMODE(files.folder.stat().st_mode) == 0o750


@pytest.mark.parametrize("meanwhile", [1, 2, 3, 5])
def test_what_was_written_meanwhile_is_not_written_over(files: Files, meanwhile: int) -> None:
    written(files, "first")
    read = files.read(NAME)
    written(files, *(f"other {number}" for number in range(meanwhile)))
    there = names(files)
    with pytest.raises(Conflict) as refused:
        files.write(NAME, "mine", "", read)
    assert code_of(refused) == "record_written_meanwhile"
    assert names(files) == there


@pytest.mark.parametrize("meanwhile", [1, 2, 4])
def test_what_was_made_meanwhile_is_not_made_again(files: Files, meanwhile: int) -> None:
    read = files.read(NAME)
    written(files, *(f"other {number}" for number in range(meanwhile)))
    there = names(files)
    with pytest.raises(Conflict):
        files.write(NAME, "mine", "", read)
    assert names(files) == there


def test_of_many_who_write_at_once_each_is_kept_or_told(files: Files) -> None:
    written(files, "0")

    def count_up() -> None:
        for _each in range(20):
            while True:
                try:
                    kept = files.read(NAME)
                    assert kept is not None
                    files.write(NAME, str(int(kept.text) + 1), "", kept)
                except Conflict:
                    continue
                break

    threads = [threading.Thread(target=count_up) for _each in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = files.read(NAME)
    assert kept is not None
    # None is lost. One that two others build upon within an instant is reported as a conflict, and made a second time.
    assert int(kept.text) >= 80
    assert len(names(files)) <= 3


def test_other_files_are_no_records_and_stay(files: Files) -> None:
    files.folder.mkdir(parents=True)
    for other in (
        f"{NAME}.json",
        f"{NAME}.0.json",
        f"{NAME}.01.json",
        f".{NAME}.x.new",
        "notes.txt",
        f"{NAME}.2.json~",
    ):
        (files.folder / other).write_text("other")
    assert (files.read(NAME), files.find().kept) == (None, {})
    there = names(files)
    written(files, "one", "two", "three")
    assert [name for name in names(files) if name not in there] == [f"{NAME}.2.json", f"{NAME}.3.json"]


def test_all_records_are_found_and_one_that_cannot_be_opened_is_told(files: Files, tmp_path: Path) -> None:
    written(files, "one", "two")
    written(files, "other", name="another")
    (tmp_path / "secret").write_text("secret")
    (files.folder / "linked.1.json").symlink_to(tmp_path / "secret")
    found = files.find()
    assert {name: kept.text for name, kept in found.kept.items()} == {NAME: "two", "another": "other"}
    (reason,) = found.verdict.reasons
    assert (reason.code, reason.state.value) == ("record_file_unusable", "passed")
    assert str(files.folder / "linked.1.json") in reason.message


def test_a_pipe_is_not_waited_for_and_no_more_than_enough_is_read(files: Files) -> None:
    files.folder.mkdir(parents=True)
    os.mkfifo(files.folder / "pipe.1.json")
    with (files.folder / "long.1.json").open("wb") as file:
        file.truncate(LONGEST + 1)
    (files.folder / "odd.1.json").write_bytes(b"\xff\xfe")
    texts = {name: kept.text for name, kept in files.find().kept.items()}
    assert (texts["pipe"], len(texts["long"]), texts["odd"]) == ("", LONGEST, "\ufffd\ufffd")


def read(files: Files) -> None:
    files.read(NAME)


def write(files: Files) -> None:
    files.write(NAME, "x", "", None)


def find(files: Files) -> None:
    files.find()


@pytest.mark.parametrize("act", [read, write, find])
def test_a_folder_that_is_none_is_one_clear_sentence(files: Files, act: Callable[[Files], None]) -> None:
    files.folder.parent.mkdir()
    files.folder.write_text("a file")
    with pytest.raises(Refusal) as refused:
        act(files)
    assert code_of(refused) == "record_file_unusable"
    assert str(files.folder) in refused.value.verdict.reasons[0].message
    assert refused.value.verdict.reasons[0].message.count(". ") == 0


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "a\0b", "a b", "a\n"])
def test_a_name_that_leads_out_of_the_folder_is_refused(files: Files, name: str) -> None:
    with pytest.raises(Refusal) as refused:
        files.read(name)
    assert code_of(refused) == "record_file_unusable"
    with pytest.raises(Refusal) as refused:
        files.write(name, "x", "", None)
    assert code_of(refused) == "record_file_unusable"
    assert not files.folder.exists()
