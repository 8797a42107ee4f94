"""The README and the command lines that users are shown: short, and without JSON."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.checks.tree import project_files

ROOT = Path(__file__).resolve().parents[2]
MOST = 150
"""The lines of README.md."""
JSON = re.compile(r"(?:-e|--extra-vars)[ =]\\?[\"']\{(?!\{)")
"""Variables as JSON. A template does not count."""
SHOWN = ("README.md", "changelogs", "docs", "extensions", "meta", "playbooks", "plugins", "roles")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("""-e '{"upgrade_groups": ["search"]}'""", True),
        ('''--extra-vars "{'a': 1}"''', True),
        ('-e "{{ variables }}"', False),
        ("-e upgrade_groups=search", False),
    ],
)
def test_json_is_found(line: str, found: bool) -> None:
    assert bool(JSON.search(line)) == found


def test_no_command_line_holds_json() -> None:
    shown = [path for path in project_files() if path.parts[0] in SHOWN and path.suffix not in {".png", ".svg"}]
    assert len(shown) > len(SHOWN)
    assert [str(path) for path in shown if JSON.search((ROOT / path).read_text(encoding="utf-8"))] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= MOST
