"""The pictures in docs/pictures are those that the script draws, and their words lie inside them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from tests.site.pictures import FOLDER, PICTURES

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_as_the_script_draws_it(name: str) -> None:
    drawn = PICTURES[name]()
    assert (FOLDER / name).read_text(encoding="utf-8") == drawn, "run: python -m tests.site.pictures"
    picture = ET.fromstring(drawn)  # noqa: S314 - drawn here
    width, height = (int(each) for each in picture.attrib["viewBox"].split()[2:])
    for text in picture.iter(f"{SVG}text"):
        assert 0 < int(text.attrib["x"]) < width
        assert 0 < int(text.attrib["y"]) < height
