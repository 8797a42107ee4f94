"""The fragments of the changelog are reStructuredText: names are between double backticks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

FRAGMENTS = sorted((Path(__file__).resolve().parents[2] / "changelogs" / "fragments").glob("*.yml"))
OF_MODULES = re.compile(r"\b(?:[CMOVIBLU]|RV)\([^)]")
"""The markup of module documentation, which means nothing here."""
LITERAL = re.compile(r"``[^`]+``")


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=lambda path: str(path.stem))
def test_names_are_literals_of_restructured_text(fragment: Path) -> None:
    sections = yaml.safe_load(fragment.read_text(encoding="utf-8"))
    texts = [text for section in sections.values() for text in ([section] if isinstance(section, str) else section)]
    plain = [LITERAL.sub("", text) for text in texts]
    assert [text for text in plain if OF_MODULES.search(text) or "`" in text] == []
