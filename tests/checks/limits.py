"""The limits of the house: `python -m tests.checks.limits` prints every breach as one line, path first.

- Files stay under 400 lines, functions under 50. No exceptions.
- No file has anything that is true of one machine only: no path of a user's folders, no host of a package
  registry (each user's own settings name it).
- Tests wait for conditions, they do not sleep.
- Pictures of docs/pictures stay small; every other file is a text.
- Sentences that users read have the words of the glossary (`tests.checks.wording`).
The limits of plugins are in `tests.checks.rooms`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.checks.rooms import room_breaches
from tests.checks.tree import ROOT, project_files
from tests.checks.wording import replaced

FILE_LINES, FUNCTION_LINES = 400, 50
COUNTED = frozenset({".go", ".j2", ".py", ".sh", ".yaml", ".yml"})
PICTURES, PICTURE_BYTES = Path("docs", "pictures"), 150_000
"""The folder of pictures that a browser has taken, and the most bytes that one of them has."""
FOREIGN = frozenset({"LICENSE", "GPL-3.0-or-later.txt"})
"""Texts that are not ours to change."""

# Written in pieces: this file is looked through as well.
REGISTRIES = (
    ("pypi", "org"),
    ("pythonhosted", "org"),
    ("proxy", "golang", "org"),
    ("sum", "golang", "org"),
    ("maven", "org"),
    ("maven", "apache", "org"),
    ("galaxy", "ansible", "com"),
    ("registry", "k8s", "io"),
    ("docker", "io"),
    ("quay", "io"),
    ("ghcr", "io"),
)
REGISTRY = re.compile(
    "(?<![A-Za-z0-9-])(?:" + "|".join(re.escape(".".join(host)) for host in REGISTRIES) + r")(?![\w.-])"
)
MACHINE_PATH = re.compile(r"(?<![\w.:/~}-])/(?:Users|builds|home|private|root|tmp|work|workspace)/\w[\w./-]*")
ADDRESS = re.compile(r"\b[a-z]+://")


def long_file(text: str) -> Iterator[str]:
    """A file that has grown too long."""
    if (lines := text.count("\n")) >= FILE_LINES:
        yield f"1: {lines} lines; split it, a file stays under {FILE_LINES}"


def long_functions(tree: ast.Module) -> Iterator[str]:
    """Functions that have grown too long, signature and docstring included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines >= FUNCTION_LINES:
                yield f"{node.lineno}: {node.name} has {lines} lines; split it, a function stays under {FUNCTION_LINES}"


def sleeps(tree: ast.Module) -> Iterator[str]:
    """Calls of a sleep, by whatever clock."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name == "sleep":
                yield f"{node.lineno}: sleeps; wait for a condition instead"


def of_one_machine(text: str) -> Iterator[str]:
    """Registry hosts, and paths of folders that only one machine has."""
    for number, line in enumerate(text.splitlines(), start=1):
        for found in (*REGISTRY.findall(line), *MACHINE_PATH.findall(line)):
            yield f"{number}: {found} is of one machine; leave it to its settings"


def addresses_in_lock(text: str) -> Iterator[str]:
    """A lock says what and with which checksum, never where from."""
    for number, line in enumerate(text.splitlines(), start=1):
        if ADDRESS.search(line):
            yield f"{number}: an address in a lock; make the lock without addresses"


def large_picture(size: int) -> Iterator[str]:
    """A picture that would make every clone slower."""
    if size > PICTURE_BYTES:
        yield f"1: {size} bytes; a picture has at most {PICTURE_BYTES}"


def is_lock(path: Path) -> bool:
    """Whether a file pins packages by checksum."""
    return path.suffix in {".lock", ".sum"} or "locks" in path.parts


def breaches(path: Path, text: str) -> Iterator[str]:
    """The breaches of limits in one file; `path` is relative to the root."""
    if path.suffix in COUNTED and not is_lock(path):
        yield from long_file(text)
    if path.suffix == ".py":
        tree = ast.parse(text)
        yield from long_functions(tree)
        if path.name.startswith("test_"):
            yield from sleeps(tree)
    if is_lock(path):
        yield from addresses_in_lock(text)
    if path.name not in FOREIGN:
        yield from of_one_machine(text)
        yield from replaced(path, text)


def all_breaches(root: Path, paths: Iterable[Path]) -> Iterator[str]:
    """The breaches of limits in all these files."""
    python: dict[Path, ast.Module] = {}
    for path in paths:
        if path.suffix == ".png" and path.parent == PICTURES:
            yield from (f"{path}:{breach}" for breach in large_picture((root / path).stat().st_size))
            continue
        try:
            text = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            yield f"{path}:1: not a text in UTF-8; a collection holds sources only"
            continue
        if path.suffix == ".py" and path.parts[0] == "plugins":
            python[path] = ast.parse(text)
        yield from (f"{path}:{breach}" for breach in breaches(path, text))
    yield from room_breaches(python)


def main() -> int:
    """Prints all breaches; gives the exit code."""
    found = list(all_breaches(ROOT, project_files()))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
