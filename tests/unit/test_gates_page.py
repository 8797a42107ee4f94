"""docs/gates.md says of every check of the gates what the table in the code says, and what the options accept."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.checks import (
    ADDABLE,
    CHECKS,
    SKIPPABLE,
    judge_selection,
)

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gates.md"
ROW = re.compile(
    r"^\| `(?P<name>\w+)` \| (?P<moments>[\w, ]*?) ?(?:\((?P<on_request>[^)]+)\))? \| (?P<proof>proof )?"
    r"\| (?P<codes>[^|]+) \| (?P<asks>[^|]+) \|$"
)


def documented(text: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...], bool, tuple[str, ...]]]:
    """Name, moments, moments on request, proof and codes of each row."""
    rows = [found for line in text.splitlines() if (found := ROW.match(line))]
    return [
        (
            row["name"],
            tuple(row["moments"].split(", ")),
            tuple(row["on_request"].split(", ")) if row["on_request"] else (),
            bool(row["proof"]),
            tuple(re.findall(r"`(\w+)`", row["codes"])),
        )
        for row in rows
    ]


def test_the_page_and_the_table_agree() -> None:
    table = [(check.name, check.moments, check.on_request, check.proof, check.codes) for check in CHECKS]
    assert documented(PAGE.read_text(encoding="utf-8")) == table


def test_every_row_is_read() -> None:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert len(lines) == len(CHECKS)


def test_every_code_of_a_check_is_a_reason() -> None:
    reasons = (ROOT / "docs" / "reference" / "reasons.md").read_text(encoding="utf-8")
    assert [code for check in CHECKS for code in check.codes if f"| `{code}` |" not in reasons] == []


def test_what_can_be_skipped_and_added() -> None:
    proof = [check.name for check in CHECKS if check.proof]
    assert not set(SKIPPABLE) & set(proof)
    assert not judge_selection(SKIPPABLE, ()).reasons
    assert not judge_selection((), ADDABLE).reasons
    for name in proof:
        (reason,) = judge_selection([name], ()).reasons
        assert (reason.code, name in reason.message) == ("check_is_proof", True)
    (reason,) = judge_selection(["disk", "tasks"], ["disk"]).reasons
    assert (reason.code, "to be skipped and to be added: disk." in reason.message) == ("check_skipped_and_added", True)
