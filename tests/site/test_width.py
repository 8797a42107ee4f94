"""No page of the site is wider than its window: long lines scroll in their own frame, and long names are broken."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

from tests.site.screenshots import PATIENCE, PROGRAMS, QUIET
from tests.site.wrapping import breakable

STYLE = Path(__file__).with_name("static") / "site.css"
WIDTHS = (390, 1000, 1280, 1600)
THEME = """
body { margin: 0 } .page { display: flex } .main { display: flex; flex: 1 } .sidebar { width: 20em; flex-shrink: 0 }
.content { display: flex; flex-direction: column; padding: 0 3em; width: 46em; box-sizing: border-box }
.toc { width: 15em; flex-shrink: 0 } article { overflow-wrap: break-word } pre, .table-wrapper { overflow-x: auto }
span.pre { white-space: nowrap } @media (max-width: 67em) { .sidebar, .toc { display: none } }
"""
"""The layout of the theme (furo), as far as it decides on widths."""
NAME = ".".join(["plugins.security.ssl.http.pemcert_filepath"] * 4)
PAGE = f"""<div class="page"><div class="sidebar"></div><div class="main"><div class="content">
<div class="article-container"><article><p>A setting: <code class="literal"><span class="pre">{NAME}</span></code></p>
<pre>{"one long line of a console " * 20}</pre>
<div class="table-wrapper"><table class="docutils"><tr><td><code><span class="pre">{NAME}</span></code></td><td>Text
</td></tr></table></div></article></div></div><div class="toc"></div></div></div>"""


def test_names_may_be_broken_and_are_copied_as_they_are() -> None:
    text = '<p>a.b</p><span class="pre">a_b.c-1/d</span> <span class="pre">index.*</span>'
    done = breakable(text)
    assert done == '<p>a.b</p><span class="pre">a_<wbr>b.<wbr>c-1/<wbr>d</span> <span class="pre">index.<wbr>*</span>'
    assert done.replace("<wbr>", "") == text


def test_the_items_of_flex_boxes_may_be_narrower_than_their_longest_line() -> None:
    style = STYLE.read_text(encoding="utf-8")
    found = re.search(r"^([^\n{]*)\{ min-width: 0; \}$", style, re.M)
    assert found is not None
    assert {each.strip() for each in found[1].split(",")} == {".main", ".content", ".article-container"}
    assert ".content code .pre { white-space: normal; }" in style


@pytest.mark.skipif(not any(map(shutil.which, PROGRAMS)), reason="Chromium is no package of the project")
def test_no_window_is_too_narrow_for_a_page(tmp_path: Path) -> None:
    style = THEME + STYLE.read_text(encoding="utf-8")
    page = f"<!doctype html><style>{style}</style>{breakable(PAGE)}"
    frames = "".join(f'<iframe style="border:0;width:{width}px" src="page.html"></iframe>' for width in WIDTHS)
    ask = "[...document.querySelectorAll('iframe')].map(each => each.contentDocument.documentElement.scrollWidth)"
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    (tmp_path / "all.html").write_text(
        f"<!doctype html>{frames}<pre></pre><script>onload = () => "
        f"document.querySelector('pre').textContent = JSON.stringify({ask})</script>",
        encoding="utf-8",
    )
    browser = next(found for found in map(shutil.which, PROGRAMS) if found)
    options = [*QUIET, "--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'browser'}"]
    command = [browser, *options, "--dump-dom", (tmp_path / "all.html").as_uri()]
    shown = subprocess.run(command, check=True, timeout=PATIENCE, capture_output=True, text=True).stdout
    found = re.search(r"<pre>(.*?)</pre>", shown)
    assert found is not None, shown
    assert json.loads(unescape(found[1])) == list(WIDTHS)
