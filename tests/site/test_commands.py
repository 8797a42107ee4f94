"""Every command of a page is run by a test, so a page shows commands in blocks of their own kind and nowhere else."""

from __future__ import annotations

import re

from tests.site.commands import DOCS, ELSEWHERE, FENCE, commands_in, elsewhere, files_in
from tests.unit.named_tests import missing

PAGES = sorted(DOCS.rglob("*.md"))
PROGRAM = re.compile(r"^\$? ?(?:ansible[\w-]*|kubectl|curl|make|pip|helm|molecule|export) ", re.M)


def test_commands_stand_in_blocks_of_their_own_kind() -> None:
    for page in PAGES:
        for found in FENCE.finditer(page.read_text(encoding="utf-8")):
            if found["language"] != "console":
                assert not PROGRAM.search(found["body"]), f"{page.name}: {found['body']}"


def test_what_is_run_elsewhere_is_shown_and_its_test_exists() -> None:
    shown = {(page.name, each) for page in PAGES for each in commands_in(page.read_text(encoding="utf-8"))}
    used = {elsewhere(page, command) for page, command in shown}
    assert [each for each in ELSEWHERE if each not in used] == []
    for each in ELSEWHERE:
        assert missing(f"`{each.test}`") == []


def test_a_command_is_one_line_without_its_remark() -> None:
    page = "```console\n$ a b \\\n    -c d   # says this\nanswer\n$ e\n```\n\n```yaml\n$ f\n```\n"
    assert commands_in(page) == ["a b -c d", "e"]


def test_a_file_is_a_block_that_begins_with_its_name() -> None:
    page = "```yaml\n# members.yml\nplugin: x\n```\n\n```yaml\n- a\n```\n"
    assert list(files_in(page)) == [("members.yml", "# members.yml\nplugin: x\n")]
