"""Files of a volume change all at once, and as those of a real kubelet."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

from tests.lab.kubelet.published import DATA, publish


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_files_come_change_and_go(tmp_path: Path) -> None:
    assert publish(tmp_path, {"one": b"1", "under/two": b"2"}, _write)
    assert ((tmp_path / "one").read_bytes(), (tmp_path / "under" / "two").read_bytes()) == (b"1", b"2")
    assert os.readlink(tmp_path / "one") == f"{DATA}/one"
    first = (tmp_path / DATA).resolve()
    assert _names(tmp_path) == sorted([first.name, DATA, "one", "under"])

    assert not publish(tmp_path, {"one": b"1", "under/two": b"2"}, _write), "nothing has changed"
    assert (tmp_path / DATA).resolve() == first

    assert publish(tmp_path, {"one": b"new", "three": b"3"}, _write)
    second = (tmp_path / DATA).resolve()
    assert _names(tmp_path) == sorted([second.name, DATA, "one", "three"])
    assert (tmp_path / "one").read_bytes() == b"new"

    assert publish(tmp_path, {}, _write)
    assert _names(tmp_path) == sorted([(tmp_path / DATA).resolve().name, DATA])


def test_a_reader_sees_files_of_one_moment(tmp_path: Path) -> None:
    publish(tmp_path, {"a": b"0", "b": b"0"}, _write)
    seen: list[tuple[bytes, bytes]] = []
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            # The folder of one time may go before it is opened, or while it is read; a reader then looks again.
            with contextlib.suppress(FileNotFoundError):
                here = os.open(tmp_path / DATA, os.O_DIRECTORY)
                try:
                    seen.append((_at(here, "a"), _at(here, "b")))
                finally:
                    os.close(here)

    reader = threading.Thread(target=read)
    reader.start()
    number = 0
    # A busy machine may let the reader look late.
    while number < 200 or (len(seen) < 2 and reader.is_alive()):
        number += 1
        content = str(number).encode()
        publish(tmp_path, {"a": content, "b": content}, _write)
    ended.set()
    reader.join()
    assert len(seen) > 1
    assert all(one == other for one, other in seen)


def _at(folder: int, name: str) -> bytes:
    with os.fdopen(os.open(name, os.O_RDONLY, dir_fd=folder), "rb") as file:
        return file.read()
