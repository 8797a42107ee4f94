"""The settings of Sphinx for the documentation site; `tests.site` calls it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# Sphinx reads this file by itself, and not as a part of the package.
sys.path.insert(0, str(ROOT))

from tests.site.contents import with_contents  # noqa: E402 - after the path to it is known
from tests.site.elsewhere import linked  # noqa: E402
from tests.site.wrapping import with_breaks  # noqa: E402

project = "stateful.upgrade"
copyright = "the stateful.upgrade authors, GPL-3.0-or-later"  # noqa: A001 - the name that Sphinx reads
html_title = "stateful.upgrade"

extensions = ["myst_parser", "sphinx_antsibull_ext", "sphinx_copybutton"]
root_doc = "index"
nitpicky = True

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"

pygments_style = "ansible"
pygments_dark_style = "github-dark"
html_theme = "furo"
html_theme_options = {
    "source_repository": "https://github.com/stateful-upgrade/stateful.upgrade/",
    "source_branch": "main",
    "source_directory": "docs/",
}
html_static_path = [str(Path(__file__).with_name("static"))]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_use_index = False
html_use_modindex = False


def setup(app: Any) -> None:
    """The table of contents is made of the lists of the first page, so that it is written once."""
    app.connect("source-read", with_contents)
    app.connect("missing-reference", linked)
    app.connect("html-page-context", with_breaks)
