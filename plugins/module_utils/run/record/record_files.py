"""Records as files in a folder of the controller that only their user can read.

A file system can create a file only if there is none, but it cannot replace a file only if it is a certain version. So
each version is a file of its own, `NAME.NUMBER.json`, and the highest number is the record. A run that has read number
7 makes number 8 in one step, which fails if another was faster. No lock is needed, and a killed run leaves the former
version.

Plain hosts have only the cluster and the controller. In the cluster, a record would need a place among the data, or
in the state that every member copies. So it is below the home of the controller's user, where state belongs (XDG
Base Directory: `~/.local/state`). The condition is that of link(2), which every file system has.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ...common.errors import Conflict, Refusal, refusal
from ...common.verdict import Reason, Verdict, remark
from .record_keeping import MOST, FoundRecords, Kept, News

LONGEST = 4 * MOST
"""The most bytes that are read of a file: no run writes a longer one."""
PRIVATE = 0o700
_FILE = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)\.(?P<number>[1-9]\d{0,17})\.json", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)


@dataclass(frozen=True)
class Files:
    """The records of a folder."""

    folder: Path

    def read(self, name: str) -> Kept | None:
        """The record of this name now.

        Raises:
            Conflict: others have made two further versions since the folder was listed.
            Refusal: the folder or the file cannot be used.
        """
        with self._usable():
            number = max(self._numbers().get(_named(name), ()), default=0)
            return self._kept(name, number) if number else None

    def write(self, name: str, text: str, summary: str, over: Kept | None, news: News | None = None) -> None:
        """Make the next version, and remove those before the last.

        Raises:
            Conflict: someone else has made that version. If two others have read and written during this write, they
                may have built upon it; making the same change once more does no harm.
            Refusal: the folder or the file cannot be used.
        """
        number = int(over.version) + 1 if over is not None else 1
        name = _named(name)
        with self._usable():
            self.folder.mkdir(PRIVATE, parents=True, exist_ok=True)
            descriptor, new = tempfile.mkstemp(".new", f".{name}.", self.folder)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                os.link(new, self._path(name, number))
            except FileExistsError:
                raise _written_since(name) from None
            finally:
                os.unlink(new)
            numbers = self._numbers().get(name, {number})
            if max(numbers) > number + 1:
                # This number was free only because older versions were removed already.
                self._remove(name, number)
                raise _written_since(name)
            # The version before the last stays, so that a run that has just listed the folder finds one of them.
            for each in numbers:
                if each < number - 1:
                    self._remove(name, each)

    def find(self) -> FoundRecords:
        """All records of the folder."""
        kept, remarks = dict[str, Kept](), list[Reason]()
        with self._usable():
            numbers = self._numbers()
        for name in sorted(numbers):
            try:
                with self._usable():
                    kept[name] = self._kept(name, max(numbers[name]))
            except Refusal as error:
                remarks += [remark("record_file_unusable", each.message, each.remedy) for each in error.verdict.reasons]
        return FoundRecords(kept, Verdict(tuple(remarks)))

    def remove(self, name: str, kept: Kept) -> None:
        """Remove the version that was read and those before it.

        Raises:
            Conflict: someone else has made another version since.
            Refusal: the folder or the file cannot be used.
        """
        with self._usable():
            numbers = self._numbers().get(_named(name), set())
            if numbers and max(numbers) != int(kept.version):
                raise _written_since(name)
            for each in numbers:
                self._remove(name, each)

    def _path(self, name: str, number: int) -> Path:
        return self.folder / f"{name}.{number}.json"

    def _remove(self, name: str, number: int) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._path(name, number))

    def _numbers(self) -> dict[str, set[int]]:
        """The versions of each record."""
        numbers: dict[str, set[int]] = {}
        with suppress(FileNotFoundError):
            for each in os.listdir(self.folder):
                found = _FILE.fullmatch(each)
                if found:
                    numbers.setdefault(found["name"], set()).add(int(found["number"]))
        return numbers

    def _kept(self, name: str, number: int) -> Kept:
        path = self._path(name, number)
        try:
            # A link to another file is not followed, and a pipe is not waited for.
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            raise _written_since(name) from None
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(LONGEST) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        return Kept(
            content.decode("utf-8", errors="replace"), f"file {path}", str(number), f"{self.folder / name}.*.json"
        )

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            place = error.filename if isinstance(error.filename, str) else self.folder
            raise refusal(
                "record_file_unusable",
                f"{place} cannot be used for the record: {error.strerror or error}.",
                "Give another folder with record_path, or keep no record (record_kept_in=none).",
            ) from error


def _named(name: str) -> str:
    """The name, which is part of a path.

    Raises:
        Refusal: it would lead out of the folder.
    """
    if _NAME.fullmatch(name):
        return name
    raise refusal(
        "record_file_unusable",
        f"{name!r} is no name of a record that can be a file.",
        "Give the lock a name of letters, digits, dots, hyphens and underscores.",
    )


def _written_since(name: str) -> Conflict:
    said = f"Record {name} was written by another process at the same time."
    return Conflict.because("record_written_meanwhile", said, "Run again.")
