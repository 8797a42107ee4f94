"""Boxes and arrows as SVG. Pure: the same picture is the same text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

FILLS = {
    "look": ("#e8f1fd", "#2f6fc2"),
    "person": ("#fdf3dc", "#b07d12"),
    "act": ("#e5f5ea", "#2c8a4b"),
    "stop": ("#fdeaea", "#bf3a3a"),
    "kept": ("#f1eefb", "#6a55b8"),
}
"""Kind of a box → its fill and its line. A picture has a light ground of its own, so it is readable in the dark."""
LINE = 18
"""Pixels from one line of text to the next."""


@dataclass(frozen=True)
class Box:
    """A rectangle with a title and lines below it."""

    x: int
    y: int
    width: int
    height: int
    kind: str
    title: str
    lines: Sequence[str] = ()

    @property
    def svg(self) -> str:
        """The box as elements of SVG."""
        fill, line = FILLS[self.kind]
        middle = self.x + self.width // 2
        top = self.y + (self.height - LINE * len(self.lines)) // 2 + 5
        texts = [f'<text class="title" x="{middle}" y="{top}">{escape(self.title)}</text>']
        texts += [
            f'<text x="{middle}" y="{top + LINE * number}">{escape(each)}</text>'
            for number, each in enumerate(self.lines, start=1)
        ]
        rectangle = (
            f'<rect x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="8" '
            f'fill="{fill}" stroke="{line}" stroke-width="1.5"/>'
        )
        return "\n".join([rectangle, *texts])


@dataclass(frozen=True)
class Arrow:
    """A line through points with a head at its end, and a word next to it."""

    points: Sequence[tuple[int, int]]
    word: str = ""
    at: tuple[int, int] = (0, 0)

    @property
    def svg(self) -> str:
        """The arrow as elements of SVG."""
        path = " ".join(f"{x},{y}" for x, y in self.points)
        line = f'<polyline points="{path}" class="arrow" marker-end="url(#head)"/>'
        word = f'\n<text class="word" x="{self.at[0]}" y="{self.at[1]}">{escape(self.word)}</text>' if self.word else ""
        return line + word


STYLE = """\
text { font: 13px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #24292f; text-anchor: middle; }
.title { font-weight: 600; font-size: 14px; }
.word { fill: #57606a; font-style: italic; }
.arrow { fill: none; stroke: #57606a; stroke-width: 1.6; }"""
HEAD = """\
<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">
<path d="M0,0 L10,5 L0,10 z" fill="#57606a"/></marker></defs>"""


def drawn(title: str, width: int, height: int, parts: Sequence[Box | Arrow]) -> str:
    """A picture of this size; `title` is read to those who do not see it."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" width="{width}">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{STYLE}\n</style>",
            HEAD,
            f'<rect width="{width}" height="{height}" rx="10" fill="#ffffff"/>',
            *(each.svg for each in parts),
            "</svg>",
            "",
        ]
    )
