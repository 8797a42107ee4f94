"""Names in a text may be broken over lines at their dots, slashes and underscores, so that a table fits its page."""

from __future__ import annotations

import re
from typing import Any

_CODE = re.compile(r'(<span class="pre">)([^<]*)(</span>)')
_PLACE = re.compile(r"(?<=[\w*][._/:,=])(?=[\w*])")


def breakable(body: str) -> str:
    """The body of a page with places for line breaks in its literals. A copy of them stays the same."""
    return _CODE.sub(lambda found: found[1] + _PLACE.sub("<wbr>", found[2]) + found[3], body)


def with_breaks(_app: Any, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """Sphinx' event `html-page-context`: the body of a page is at hand as it will be written."""
    if "body" in context:
        context["body"] = breakable(context["body"])
