"""The table of contents of the site, from the lists of links on its first page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/stateful-upgrade/stateful.upgrade/{kind}/main/{path}"
OUTSIDE = re.compile(r"\]\((?P<up>(?:\.\./)+)(?P<path>[^)#]+)\)")
"""A link to a file or a folder of the project that is no page."""
TEST = re.compile(r"`(?P<path>tests/[\w/]+\.py)::(?P<name>test_\w+)`")
"""A test that a page names as pytest does, which is longer than a line."""
FIRST = "index"
REFERENCE = "reference/index"
OF_REFERENCE = ("Reference", f"Modules, plugins and roles <{REFERENCE}>")
"""The section that also has the pages made by antsibull-docs, which are no files of the project, and their entry."""
SECTION = re.compile(r"^## (?P<title>.+)$", re.M)
LINK = re.compile(r"^- \[(?P<title>[^]]+)\]\((?P<page>[\w/-]+)\.md\)", re.M)
OWN_CONTENTS = re.compile(r"^\.\. contents::\n(?: +:.*\n)+", re.M)
"""A list of the sections of the page itself, which the theme shows next to each page."""
ENTRY = re.compile(r"^( +)(?P<page>(?P<name>\w+)_(?P<kind>module|role|callback|filter|inventory|lookup))$", re.M)


def sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """(title, entries) of each section of the first page that lists pages."""
    _before, *parts = SECTION.split(text)
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        entries = [f"{found['title']} <{found['page']}>" for found in LINK.finditer(body)]
        if entries:
            yield title, [*entries, *([OF_REFERENCE[1]] if title == OF_REFERENCE[0] else [])]


def contents(text: str) -> str:
    """The hidden table of contents in the words of MyST."""
    return "".join(
        "\n".join(["", "```{toctree}", ":hidden:", f":caption: {title}", "", *entries, "```", ""])
        for title, entries in sections(text)
    )


def shortened(text: str) -> str:
    """A page of the reference as the theme can show it, with the names of modules alone as entries."""
    return ENTRY.sub(r"\1\g<name> <\g<page>>", OWN_CONTENTS.sub("", text))


def outward(text: str, name: str) -> str:
    """A page whose tests and links to files of the project lead to the repository; `name` has its folders below docs.

    Links to nothing stay, and end the build.
    """
    out = "../" * (name.count("/") + 1)

    def address(found: re.Match[str]) -> str:
        there = ROOT / found["path"]
        kind = "tree" if there.is_dir() else "blob"
        return (
            f"]({REPOSITORY.format(kind=kind, path=found['path'])})"
            if found["up"] == out and there.exists()
            else found[0]
        )

    tests = REPOSITORY.format(kind="blob", path=r"\g<path>")
    return TEST.sub(rf"[`\g<name>`]({tests})", OUTSIDE.sub(address, text))


def with_contents(_app: Any, name: str, source: list[str]) -> None:
    """Gives the first page its table of contents, and all pages their links, as Sphinx reads them."""
    is_ours = (ROOT / "docs" / f"{name}.md").is_file()
    source[0] = outward(source[0], name) if is_ours else shortened(source[0])
    if name == FIRST:
        source[0] += contents(source[0])
