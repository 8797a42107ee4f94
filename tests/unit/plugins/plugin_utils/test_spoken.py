"""The words of a task: variables of the playbooks if it is in one of them, else options of its module."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.lookup.input_faults import specified
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.common.waiting import MonotonicClock, Patience, wait_for
from ansible_collections.stateful.upgrade.plugins.plugin_utils.inputs import options_of
from ansible_collections.stateful.upgrade.plugins.plugin_utils.run_options import LIMITS
from ansible_collections.stateful.upgrade.plugins.plugin_utils.spoken import OWN, PLAIN, Speech, speech_of

ROOT = Path(__file__).resolve().parents[4]
HERE = f"{OWN[1]}begin/tasks/main.yml:3"
MODULE = "stateful.upgrade."
MODULES = [*ROOT.glob("plugins/modules/*.py"), *ROOT.glob("plugins/doc_fragments/*.py")]
DOCUMENTED = re.compile(r"^  (\w+):\n    (?:description|default)", re.MULTILINE)
"""The names of options in the documentation of modules."""
KNOWN = options_of("abort", specified()) | options_of("abort", specified("stateful.upgrade.longhorn"))


def said(text: str, module: str = "cluster_health_gate", path: str = HERE, **arguments: Any) -> str:
    """The text as a task says it."""
    return speech_of(path, module, arguments).text(text)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Check opensearch.hosts.", "Check upgrade_opensearch_hosts."),
        ("kubernetes.validate_certs=false turns it off.", "upgrade_kubernetes_validate_certs=false turns it off."),
        ("Check opensearch.port_forward.port.", "Check upgrade_opensearch_port_forward_port."),
        ("Raise gate.wait_timeout or gate.wait_limit.",
         "Raise upgrade_gate_timeout or upgrade_batch_timeout or upgrade_run_timeout."),
        ("Give more time with wait_limit.", "Give more time with upgrade_batch_timeout or upgrade_run_timeout."),
        ("accept it with allow_single_copy.", "accept it with upgrade_allow_single_copy."),
        ("To continue without, set skip_checks: [disk].", "To continue without, set upgrade_skip_checks: [disk]."),
        ("The limit is upgrade_run_timeout, set upgrade_max_unavailable.",) * 2,
        ("https://opensearch.hosts.example/ and stateful.upgrade.kubernetes.host and my_opensearch.hosts",) * 2,
        ("Give one of these as target_version.",) * 2,
        ("Correct pools (upgrade_pools); see cluster.routing.allocation.enable.",) * 2,
    ],
)  # fmt: skip
def test_options_are_told_as_the_variables_that_a_user_gave(text: str, spoken: str) -> None:
    assert said(text) == spoken
    assert said(text, path="/srv/play.yml:3") == text


def test_who_gave_a_connection_as_a_dictionary_is_told_of_its_option() -> None:
    speech = speech_of(HERE, "upgrade_plan", {}, {"upgrade_opensearch": {"hosts": ["https://a:9200"]}})
    assert speech.text("Check opensearch.hosts.") == "Check upgrade_opensearch.hosts."
    assert speech.text("Check kubernetes.host.") == "Check upgrade_kubernetes_host."


@pytest.mark.parametrize(
    ("module", "arguments", "limit"),
    [
        ("cluster_health_gate", {"moment": "before_batch"}, "upgrade_gate_timeout"),
        ("cluster_health_gate", {"moment": "joined"}, "upgrade_member_timeout"),
        ("pod_ondelete_roll", {}, "upgrade_member_timeout"),
        ("shard_allocation", {"state": "drained"}, "upgrade_batch_timeout"),
        ("shard_allocation", {"state": "prepared", "drained": ["data-0"]}, "upgrade_batch_timeout"),
        ("shard_allocation", {"state": "prepared", "drained": []}, ""),
        ("upgrade_plan", {}, ""),
        ("upgrade_lock", {"state": "stopped"}, ""),
        ("upgrade_plan", {"state": "begun"}, ""),
        ("shard_allocation", {"state": "restored"}, ""),
        ("upgrade_record", {}, ""),
    ],
)
def test_the_limit_of_a_wait_is_the_variable_behind_it(module: str, arguments: dict[str, Any], limit: str) -> None:
    slow = Verdict((waiting("slow", "Slow.", "Hurry."),))
    _look, verdict = wait_for(lambda: 0, lambda _seen: slow, Patience(0.0), MonotonicClock(), Lines())
    reason = next(each for each in verdict.reasons if each.code == "timed_out")
    told = said(reason.sentence(), module, **arguments)
    assert told.count(limit) == 2 if limit else "timeout" not in told
    assert said(reason.sentence(), module, path="/srv/play.yml:3", **arguments).count("wait_timeout") == 2


def test_every_option_that_has_a_variable_of_its_name_is_told_as_that() -> None:
    options = {option for path in MODULES for option in DOCUMENTED.findall(path.read_text(encoding="utf-8"))}
    assert {name for name in options if f"upgrade_{name}" in KNOWN and "_" in name} <= {*PLAIN}
    assert {"allow_single_copy", "soak_time", "take_over"} <= {*PLAIN}
    assert {*LIMITS.values()} <= KNOWN.keys()


def test_no_task_names_the_variable_of_its_limit() -> None:
    """It would be said twice: the table of variables has the task of each limit."""
    tasks = [
        (path.name, task[key] or {})
        for path in (*ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("playbooks/*.yml"))
        for task in tasks_in(yaml.safe_load(path.read_text(encoding="utf-8")))
        for key in task
        if key.startswith(MODULE)
    ]
    assert len(tasks) > 50
    assert [name for name, options in tasks if "upgrade_" in str(options.get("wait_timeout", ""))] == []


def tasks_in(node: Any) -> list[dict[str, Any]]:
    """All tasks in plays and blocks."""
    found = []
    for entry in node if isinstance(node, list) else []:
        inner = [each for name in ("tasks", "block", "rescue", "always") for each in tasks_in(entry.get(name))]
        found += [*inner, entry]
    return found


def test_a_result_is_told_so_and_nothing_else_of_it_changes() -> None:
    reason = {"state": "refused", "code": "skip_checks", "message": "M skip_checks.", "remedy": "R take_over."}
    result = {"msg": "skip_checks", "before": {"skip_checks": 1}, "verdict": {"state": "refused", "reasons": [reason]}}
    told = Speech(own=True, limit="").result(result)
    assert told["msg"] == "upgrade_skip_checks"
    assert told["before"] == {"skip_checks": 1}
    assert Speech(own=True, limit="").result({"lines": ["Note (skip_checks)."]})["lines"] == [
        "Note (upgrade_skip_checks)."
    ]
    assert told["verdict"]["reasons"] == [
        {
            "state": "refused",
            "code": "skip_checks",
            "message": "M upgrade_skip_checks.",
            "remedy": "R upgrade_take_over.",
        }
    ]
    assert result["msg"] == "skip_checks"
