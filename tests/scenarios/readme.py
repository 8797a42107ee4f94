"""The commands of README.md, typed into a shell at a terminal as a stranger would type them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pexpect  # type: ignore[import-untyped]  # it has no type hints

from tests.checks.tree import copied_project
from tests.scenarios.playbook import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
FENCE = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
DONE = re.compile(r"::(\d+)::\r\n")
QUESTION = "Type yes to carry out plan p[0-9a-f]{11}"
COLLECTION = "stateful.upgrade"
OF_TESTS = ("ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_HOME", "ANSIBLE_CONFIG")
"""The variables by which the tests give the checkout to Ansible. Here it has to find what was installed."""


def section(title: str) -> str:
    """The text below a heading, to the next one of its level."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README.read_text(encoding="utf-8"), re.M | re.S)
    assert found is not None, f"README.md has no section {title}"
    return found[1]


def commands_in(text: str) -> list[str]:
    """The commands of the console blocks of a text in their order, each in one line and without comment."""
    blocks = "".join(found["text"] for found in FENCE.finditer(text) if found["kind"] == "console")
    return [
        line[2:].partition(" # ")[0].strip()
        for line in blocks.replace("\\\n", " ").splitlines()
        if line.startswith("$ ")
    ]


def file_in(text: str, name: str) -> str:
    """The content of the YAML block that begins with the name of a file."""
    found = [each["text"] for each in FENCE.finditer(text) if each["text"].startswith(f"# {name}\n")]
    assert len(found) == 1, f"README.md shows {name} {len(found)} times"
    return found[0]


@dataclass(frozen=True)
class Typed:
    """One command, and its end."""

    command: str
    code: int
    output: str
    seconds: float


class Shell:
    """A shell at a terminal, in an empty home of its own, on a machine without kubectl and without Galaxy."""

    def __init__(self, home: Path, environment: Mapping[str, str], password: str) -> None:
        self._password = password
        self.typed: list[Typed] = []
        stand_ins = home / "stand-ins"
        stand_ins.mkdir()
        _executable(stand_ins / "kubectl", f'PYTHONPATH={ROOT} exec {sys.executable} -m tests.scenarios.kubectl "$@"')
        galaxy = f'exec {sys.executable} -m ansible galaxy "${{@/#{COLLECTION}/{built(home)}}}" --offline'
        _executable(stand_ins / "ansible-galaxy", galaxy)
        programs = os.pathsep.join((str(stand_ins), str(Path(sys.executable).parent), os.environ.get("PATH", "")))
        kept = {name: value for name, value in environment.items() if not name.startswith(OF_TESTS)}
        self._terminal = pexpect.spawn(
            "/bin/bash",
            ["--noprofile", "--norc", "--noediting"],
            env={**kept, "HOME": str(home), "PATH": programs, "PS1": "", "TERM": "dumb"},
            cwd=str(home),
            echo=False,
            encoding="utf-8",
            timeout=PATIENCE,
        )

    def type(self, command: str) -> Typed:
        """Type a command, and answer what it asks: a password, or a yes."""
        began = time.monotonic()
        self._terminal.sendline(f"{command}; printf '\\n::%d::\\n' $?")
        if "read -rs" in command:
            self._terminal.sendline(self._password)
        said = ""
        while self._terminal.expect([DONE, QUESTION]):
            said += self._terminal.before + self._terminal.after
            # Ansible throws away what is typed before it listens, which it does shortly after its question.
            self._terminal.sendline("yes")
            while self._terminal.expect([r"\S.*\n", pexpect.TIMEOUT], timeout=5):
                self._terminal.sendline("yes")
            said += self._terminal.after
        said += self._terminal.before
        typed = Typed(command, int(self._terminal.match[1]), said.replace("\r", ""), time.monotonic() - began)
        self.typed.append(typed)
        return typed

    def type_all(self, commands: Sequence[str], places: Mapping[str, str]) -> None:
        """Type commands one after the other, each with these places in it instead of those of the examples.

        Raises:
            AssertionError: one has failed.
        """
        for command in commands:
            there = command
            for example, place in places.items():
                there = there.replace(example, place)
            typed = self.type(there)
            assert typed.code == 0, (there, typed.output)

    def figures(self) -> str:
        """The number of commands so far and the seconds that they took, without those of typing."""
        return f"{len(self.typed)} commands, {sum(each.seconds for each in self.typed):.0f} s"

    def close(self) -> None:
        """End the shell."""
        self._terminal.close(force=True)


@contextmanager
def shell(home: Path, environment: Mapping[str, str], password: str) -> Iterator[Shell]:
    """A shell for the length of the block."""
    opened = Shell(home, environment, password)
    try:
        yield opened
    finally:
        opened.close()


def built(folder: Path) -> Path:
    """The archive of the collection, as Galaxy would hand it out."""
    with copied_project() as collection:
        command = [sys.executable, "-m", "ansible", "galaxy", "collection", "build", "--output-path", str(folder)]
        subprocess.run(command, cwd=collection, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob("*.tar.gz")
    return archive


def _executable(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
