"""The table of contents of the site has every page once."""

from __future__ import annotations

import re
from pathlib import Path

from tests.site.contents import REFERENCE, contents, outward, sections, shortened

DOCS = Path(__file__).parents[2] / "docs"


def test_every_page_is_in_the_table_of_contents_once() -> None:
    entries = [entry for _title, each in sections((DOCS / "index.md").read_text(encoding="utf-8")) for entry in each]
    pages = [re.sub(r"^.* <(.+)>$", r"\1", entry) for entry in entries]
    there = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")} - {"index"}
    assert sorted(pages) == sorted([*there, REFERENCE])


def test_sections_with_links_become_a_table_of_contents() -> None:
    text = "# T\n\nSee [a](a.md).\n\n## One\n\n- [First](a.md): all\n\n## Two\n\nNone.\n\n## Reference\n\n"
    text += "- [B](reference/b.md)\n"
    assert contents(text) == (
        "\n```{toctree}\n:hidden:\n:caption: One\n\nFirst <a>\n```\n"
        "\n```{toctree}\n:hidden:\n:caption: Reference\n\nB <reference/b>\n"
        "Modules, plugins and roles <reference/index>\n```\n"
    )


def test_the_reference_lists_names_alone() -> None:
    text = "T\n=\n\n.. contents::\n   :local:\n   :depth: 1\n\n.. toctree::\n    :hidden:\n\n    pool_image_module\n"
    assert shortened(text) == "T\n=\n\n\n.. toctree::\n    :hidden:\n\n    pool_image <pool_image_module>\n"


def test_links_to_what_is_no_page_lead_to_the_repository() -> None:
    text = "[a](../roles) [b](../README.md) [c](../gone.md) [d](gates.md)"
    there = "https://github.com/stateful-upgrade/stateful.upgrade"
    assert (
        outward(text, "page")
        == f"[a]({there}/tree/main/roles) [b]({there}/blob/main/README.md) [c](../gone.md) [d](gates.md)"
    )


def test_a_page_in_a_folder_leads_out_of_it_before_it_leads_to_the_repository() -> None:
    there = "https://github.com/stateful-upgrade/stateful.upgrade"
    assert outward("[a](../../roles) [b](../roles)", "reference/page") == f"[a]({there}/tree/main/roles) [b](../roles)"


def test_tests_are_named_shortly_and_lead_to_the_repository() -> None:
    there = "https://github.com/stateful-upgrade/stateful.upgrade/blob/main/tests/unit/test_roles.py"
    assert outward("| `tests/unit/test_roles.py::test_a` |", "page") == f"| [`test_a`]({there}) |"
