"""The examples consent to nothing by themselves: whoever copies one has read what a consent gives away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.checks.tree import project_files

ROOT = Path(__file__).resolve().parents[2]
CONSENT = r"upgrade_(?:allow_\w+|accept_\w+|take_over)"
LIVE = re.compile(rf"^[^#\n]*\b{CONSENT}\s*[:=](?!\s*[\"']?\{{\{{)", re.M)
COMMENTED = re.compile(rf"^# ({CONSENT}): .+$", re.M)
BLOCK = re.compile(r"^```ya?ml\n(.*?)^```$", re.M | re.S)
SHOWN = ("README.md", "docs", "extensions")
OF_TESTS = "extensions/molecule"
"""Scenarios that run on stand-ins and throw-away members; no one copies their answers for a cluster of their own."""
FILE = ROOT / "docs" / "examples" / "upgrade.yml"


def examples() -> dict[str, str]:
    """The YAML that users copy: files, and the blocks of pages."""
    found: dict[str, str] = {}
    for path in project_files():
        if path.parts[0] not in SHOWN or str(path).startswith(OF_TESTS):
            continue
        if path.suffix in {".yml", ".yaml"}:
            found[str(path)] = (ROOT / path).read_text(encoding="utf-8")
        elif path.suffix == ".md":
            found[str(path)] = "\n".join(BLOCK.findall((ROOT / path).read_text(encoding="utf-8")))
    return found


@pytest.mark.parametrize(
    ("line", "live"),
    [
        ("upgrade_allow_single_copy: true", True),
        ("  args: [-e, upgrade_take_over=other]", True),
        ("# upgrade_allow_single_copy: true", False),
        ("variable: upgrade_allow_single_copy", False),
        ('upgrade_allow_single_copy: "{{ answer }}"', False),
    ],
)
def test_a_live_consent_is_found(line: str, live: bool) -> None:
    assert bool(LIVE.search(line)) == live


def test_no_example_consents_by_itself() -> None:
    shown = examples()
    assert {"README.md", "docs/examples/upgrade.yml", "docs/gitops.md"} <= shown.keys()
    assert {path: LIVE.findall(text) for path, text in shown.items() if LIVE.search(text)} == {}


def test_each_commented_consent_says_what_it_gives_away() -> None:
    for path, text in examples().items():
        lines = text.splitlines()
        for number, line in enumerate(lines):
            if COMMENTED.match(line):
                before = lines[number - 1] if number else ""
                assert re.match(r"# .+\.$", before), (path, line, "has no sentence before it")


def test_the_file_of_variables_has_every_consent_of_an_upgrade() -> None:
    specs = yaml.safe_load((ROOT / "roles/opensearch/meta/argument_specs.yml").read_text(encoding="utf-8"))
    options = specs["argument_specs"]["main"]["options"]
    wanted = {name for name in options if name.startswith("upgrade_allow_")}
    assert set(COMMENTED.findall(FILE.read_text(encoding="utf-8"))) == wanted
