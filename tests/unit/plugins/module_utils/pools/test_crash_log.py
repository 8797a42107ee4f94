# SPDX-License-Identifier: GPL-3.0-or-later
"""The cause of a crash is found above the frames of its stack."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, refused, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.crash_log import MOST, cause, telling, with_cause

UNKNOWN = "java.lang.IllegalArgumentException: unknown setting [no.such.setting] please check that any required plugins"
OF_OPENSEARCH = [
    "[2026-11-23T12:38:04,100][ERROR][o.o.b.OpenSearchUncaughtExceptionHandler] [search-2] uncaught exception",
    f"org.opensearch.bootstrap.StartupException: {UNKNOWN} are installed",
    "\tat org.opensearch.bootstrap.OpenSearch.init(OpenSearch.java:185) ~[opensearch-2.19.6.jar:2.19.6]",
    f"Caused by: {UNKNOWN} are installed",
    "\tat org.opensearch.common.settings.AbstractScopedSettings.validate(AbstractScopedSettings.java:606)",
    "\t... 6 more",
    f"uncaught exception in thread [main]\n{UNKNOWN}",
    "\tat org.opensearch.bootstrap.OpenSearch.main(OpenSearch.java:104)",
    "",
    "For complete error details, refer to the log at /usr/share/opensearch/logs/search.log",
]


def test_frames_and_empty_lines_are_left_out() -> None:
    told = telling(OF_OPENSEARCH)
    assert not [line for line in told if line.startswith("\tat") or not line.strip()]
    assert told[-1].startswith("For complete error details")
    assert telling(f"line {number}" for number in range(50)) == [f"line {number}" for number in range(50 - MOST, 50)]


def test_the_cause_of_the_last_exception_is_named() -> None:
    assert cause(telling(OF_OPENSEARCH)) == f"{UNKNOWN} are installed"


@pytest.mark.parametrize(
    ("lines", "named"),
    [([], ""), (["port is in use"], "port is in use"), (["a: java.lang.Error: no", "bye"], "java.lang.Error: no")],
)
def test_without_a_cause_the_last_exception_or_line_is_named(lines: list[str], named: str) -> None:
    assert cause(lines) == named


def test_only_the_refusal_of_a_crash_says_it() -> None:
    crash, other = refused("container_crashes", "It crashes.", "Read."), waiting("process_starting", "It starts.")
    told = with_cause(Verdict((crash, other)), ["port is in use."])
    assert [each.message for each in told.reasons] == [
        "It crashes. Its log names the cause: port is in use.",
        "It starts.",
    ]
    assert with_cause(Verdict((crash,)), []) == Verdict((crash,))
