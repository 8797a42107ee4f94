"""The variables of a playbook: which there are, and what is wrong with those that were given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleLookupError
from ansible_collections.stateful.upgrade.plugins.lookup.input_faults import specified
from ansible_collections.stateful.upgrade.plugins.plugin_utils.forms import FORMS
from ansible_collections.stateful.upgrade.plugins.plugin_utils.inputs import (
    Options,
    faults,
    faults_of_groups,
    faults_of_hosts,
    made_by_runs,
    results,
)
from ansible_collections.stateful.upgrade.plugins.plugin_utils.variables import EVERY, Variable, table

ENTRIES = specified()
EXAMPLE = Path(__file__).resolve().parents[4] / "docs" / "examples" / "upgrade.yml"
GOOD: dict[str, dict[str, Any]] = {
    "opensearch": {"target_version": "3.8.0", "upgrade_namespace": "search"},
    "plan": {"target_version": "3.8.0", "upgrade_namespace": "search"},
    "opensearch_hosts": {"target_version": "3.8.0", "upgrade_groups": ["a"], "upgrade_member_role": "role"},
    "status": {"upgrade_namespace": "search"},
    "abort": {"upgrade_namespace": "search"},
    "settle": {"upgrade_groups": ["a"]},
}
MACHINES = "stateful.upgrade.machines"
SECRET = "Never-To-Be-Seen-4711"


def said(playbook: str = "opensearch", forced: Iterable[str] = (), **variables: Any) -> list[str]:
    """The faults of good variables with these in addition."""
    return faults(playbook, {**GOOD[playbook], **variables}, set(forced), ENTRIES)


@pytest.mark.parametrize("playbook", GOOD)
def test_good_variables_have_no_fault(playbook: str) -> None:
    assert said(playbook, ansible_version="2.19", awx_job_id=3) == []


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("upgrade_member", "upgrade_members"),
        ("upgrade_max_unavailble", "upgrade_max_unavailable"),
        ("upgrade_gate_time_out", "upgrade_gate_timeout"),
        ("upgrade_allow_single_copies", "upgrade_allow_single_copy"),
    ],
)
@pytest.mark.parametrize("playbook", ["opensearch", "plan"])
def test_a_misspelt_name_is_refused_with_the_one_that_was_meant(playbook: str, given: str, meant: str) -> None:
    assert said(playbook, **{given: ["a"]}) == [
        f"{given} is not a variable of the playbook {playbook}: did you mean {meant}?"
    ]


def test_a_name_like_none_is_refused_too() -> None:
    (sentence,) = said("abort", upgrade_xyzzy=1)
    assert sentence.startswith("upgrade_xyzzy is not a variable of the playbook abort: take it out, or give")


@pytest.mark.parametrize("name", [name for name, each in table().items() if each.removed])
def test_a_variable_of_a_former_version_is_refused_with_what_is_to_be_used(name: str) -> None:
    assert said(**{name: "1h"}) == [f"{name} was removed, take it out: {table()[name].removed}"]


def test_a_required_variable_that_is_missing_is_named_with_what_may_be_it() -> None:
    assert faults("plan", {"target_versoin": "3.8.0"}, (), ENTRIES) == [
        "target_version is missing, and target_versoin is given: did you mean target_version?",
        "upgrade_namespace is missing: give it with -e upgrade_namespace=…, or in a file with -e @file.yml.",
    ]
    for playbook in ("status", "abort", "settle"):
        (sentence,) = faults(playbook, {}, (), ENTRIES)
        assert sentence.startswith("upgrade_namespace is missing: give it, or upgrade_groups")


def test_what_belongs_to_another_playbook_does_nothing_and_is_refused() -> None:
    assert said("opensearch_hosts", upgrade_pools=["a"], upgrade_wait=False) == [
        f"{name} does nothing in the playbook opensearch_hosts: take it out."
        for name in ("upgrade_pools", "upgrade_wait")
    ]
    for playbook, other in (("plan", "opensearch_hosts with --check"), ("opensearch", "opensearch_hosts")):
        assert said(playbook, upgrade_groups=["a"]) == [
            f"upgrade_groups does nothing in the playbook {playbook}: take it out, or use the playbook {other} if the"
            " members are on plain hosts."
        ]
    # One file of variables serves a run, and what is asked in addition.
    assert said("settle", upgrade_batching="zones", upgrade_member_role="role", upgrade_pause_reason="frozen") == []
    assert said("opensearch", upgrade_pause_reason="frozen") == []


def test_the_file_of_the_serving_playbooks_is_given_to_the_playbook_of_its_system_too() -> None:
    own = {"opensearch": "opensearch", "opensearch_hosts": "opensearch", "plan": "longhorn", "settle": "openshift"}
    for playbook, system in own.items():
        assert said(playbook, ["upgrade_system"], upgrade_system=f"stateful.upgrade.{system}") == []
    (sentence,) = said(forced=["upgrade_system"], upgrade_system="stateful.upgrade.openshift")
    assert sentence.startswith("upgrade_system is made by the run itself")


def test_what_a_run_makes_is_not_given_but_may_be_there() -> None:
    made = dict.fromkeys(made_by_runs(), "made")
    assert said(**made) == []
    assert len(said(forced=made_by_runs(), **made)) == len(made_by_runs())
    # AWX hands the artifacts of a job to the next one.
    assert said(forced=results(), **dict.fromkeys(results(), "done")) == []


def test_the_name_of_a_member_belongs_to_a_host() -> None:
    assert said("opensearch_hosts", upgrade_member="m1") == []
    (sentence,) = said("opensearch_hosts", ["upgrade_member"], upgrade_member="m1")
    assert sentence.endswith("did you mean upgrade_members?")


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("upgrade_gate_timeout", "soon", " is 'soon', and must be a whole number, 1 or more."),
        ("upgrade_gate_timeout", -5, " is '-5', and must be a whole number, 1 or more."),
        ("upgrade_member_timeout", "0", " is '0', and must be a whole number, 1 or more."),
        ("upgrade_batch_timeout", True, " is 'True', and must be a whole number, 1 or more."),
        ("upgrade_run_timeout", -1, " is '-1', and must be a whole number, 0 or more."),
        ("upgrade_recoveries", 1.5, " is '1.5', and must be a whole number, 0 or more."),
        ("upgrade_gate_timeout", [], " must be a whole number, 1 or more."),
        ("upgrade_soak_time", 10**12, " is '1000000000000', and must be at most 2000000."),
        ("upgrade_recoveries", None, " is null: give it a value, or leave it out."),
        ("upgrade_wait", "perhaps", " is 'perhaps', and must be true or false."),
        ("upgrade_batching", "zone", " is 'zone', and must be one of serial, zones, disjoint, node."),
        ("upgrade_members", {"a": 1}, " must be a list, such as [a, b]."),
        ("upgrade_members", ["a", ""], " has an element that is empty or no text."),
        ("upgrade_members", [["a"]], " has an element that is empty or no text."),
        (
            "upgrade_allow_field_managers",
            ["spinnaker"],
            " has spinnaker, and takes only argocd, flux, configsync, kapp, gardener, crossplane, kubevela, k3s, fleet,"
            " terraform, pulumi, helm.",
        ),
        ("upgrade_pools", "hot,Hot", f" has Hot, and each must be {FORMS['name'].said}."),
        ("upgrade_image", ["a"], " must be text, or a dictionary of pools and texts."),
        ("upgrade_image", {"hot": ["a"]}, " must be text, or a dictionary of pools and texts."),
        ("upgrade_image", ":::", f" is ':::', and must be {FORMS['image'].said}."),
        ("upgrade_image", {"hot": "a b"}, f" has a b, and each must be {FORMS['image'].said}."),
        ("upgrade_image", "a=,b", " is 'a=,b', and must give each pool one image: IMAGE, or POOL=IMAGE,POOL=IMAGE."),
        ("upgrade_pools", ["hot", "Hot"], f" has Hot, and each must be {FORMS['name'].said}."),
        ("upgrade_prometheus_url", f"{SECRET}", f" must be {FORMS['url'].said}."),
        ("upgrade_prometheus", {"url": SECRET}, f".url must be {FORMS['url'].said}."),
        ("upgrade_webhook", f"ftp://{SECRET}", f" must be {FORMS['url'].said}."),
        ("upgrade_approvals", [{"name": "a", "after": -1}], "[0].after must be a whole number, 0 or more."),
        ("upgrade_approvals", [{"name": "a"}], "[0] has no after."),
        ("upgrade_steps", [{"name": "a", "moment": "befor"}], "[0].moment must be one of before, after."),
        ("upgrade_tasks_after", {"a": 1}, " must be a list, such as [a, b]."),
        ("upgrade_allow_single_copy", {"a": 1}, " must be true, false or a list, such as [a, b]."),
        ("upgrade_members", True, " is 'True', and must be a list, such as [a, b]."),
        ("upgrade_namespace", " ", " is ' ', and must not be empty."),
        ("upgrade_wait", None, " is null: give it a value, or leave it out."),
        ("upgrade_opensearch", {"hosts": []}, ".hosts is empty: name at least one."),
        ("upgrade_opensearch", {"hosts": [""]}, ".hosts has an element that is empty or no text."),
        ("upgrade_opensearch", {"request_timeout": 0}, ".request_timeout must be a whole number, 1 or more."),
        ("upgrade_opensearch", {"request_timeout": 10**10}, ".request_timeout must be at most 2000000."),
        ("upgrade_opensearch", {"pasword": SECRET}, ".pasword is not an option: did you mean password?"),
        ("upgrade_opensearch", {"port_forward": {"prt": 1}}, ".port_forward.prt is not an option: did you mean port?"),
        ("upgrade_kubernetes", {"verify_ssl": SECRET}, ".verify_ssl must be true or false."),
    ],
)  # fmt: skip
def test_a_wrong_value_is_one_sentence(name: str, value: Any, fault: str) -> None:
    assert said(**{name: value}) == [name + fault]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("upgrade_gate_timeout", "90"),
        ("upgrade_run_timeout", 0),
        ("upgrade_wait", "no"),
        ("upgrade_members", "a,b"),
        ("upgrade_members", []),
        ("upgrade_take_over", ""),
        ("upgrade_image", {"hot": "opensearch:3.8.0"}),
        ("upgrade_image", "hot=opensearch:3.8.0"),
        ("upgrade_allow_single_copy", True),
        ("upgrade_allow_single_copy", "no"),
        ("upgrade_allow_red_indices", ["logs-*", "-logs-keep"]),
        ("upgrade_max_unavailable", 2),
        ("upgrade_approvals", [{"name": "first", "after": 0}]),
        ("upgrade_steps", [{"name": "dependencies", "late_after": 0, "retries": 0, "retries_unreachable": 0}]),
        ("upgrade_opensearch", {"url": "https://a:9200", "password": None}),
        ("upgrade_kubernetes", {"kubeconfig": "~/.kube/config", "verify_ssl": "false"}),
    ],
)
def test_a_good_value_is_taken_as_it_is_written(name: str, value: Any) -> None:
    assert said(**{name: value}) == []


WRONG: Mapping[str, Any] = {
    **{"image": ":::", "labels": "a b", "moment": "tomorrow", "name": "A", "share": -2},
    **{"time": "yesterday", "url": "monitoring", "pools": ["a"], "indices": {"a": 1}},
    **{"selectors": {"a": 1}, "int": -1, "bool": "perhaps", "dict": "[a", "list": {"a": 1}, "str": ["a"]},
}
"""A value that is wrong, by the form of a variable, or else by its type."""


def wrong_value(variable: Variable) -> Any:
    """A value that the variable cannot have."""
    if variable.option.get("choices") and variable.option["type"] == "str":
        return "tea"
    return WRONG[variable.values or variable.option["type"]]


@pytest.mark.parametrize("name", [name for name, each in table().items() if {"opensearch", EVERY} & each.playbooks])
def test_no_variable_takes_a_value_that_it_cannot_have(name: str) -> None:
    variable = table()[name]
    if variable.option["type"] in ("path", "raw") and not variable.values:
        pytest.skip("any text is a path")
    (sentence,) = said(**{name: wrong_value(variable)})
    assert sentence.startswith(name)


@pytest.mark.parametrize(
    ("form", "good"),
    [
        *(("image", each) for each in ("opensearch:3.8.0", "r.example.com:5000/a/b", f"a/b:1@sha256:{'0' * 64}")),
        *(("labels", each) for each in ("a", "!a", "a=b,c!=d", "a in (b, c),d notin (e)", "example.com/a==", "a = b")),
        *(("moment", each) for each in ("2026-11-21T02:00:00Z", "2026-11-21t02:00:00+01:00")),
        *(("name", each) for each in ("search", "a", "0", "a-b.c")),
        *(("share", each) for each in ("2", "25%", "100%")),
        *(("time", each) for each in ("24h", "90m", "1.5d")),
        *(("url", each) for each in ("http://a", "https://user:word@[::1]:9090/path?x=y")),
    ],
)
def test_a_text_of_its_form_is_taken(form: str, good: str) -> None:
    assert FORMS[form].fits(good)


@pytest.mark.parametrize(
    ("form", "wrong"),
    [
        *(("image", each) for each in ("", "a b", "Opensearch:3", "a::b", "https://a/b:1", "a/")),
        *(("labels", each) for each in ("", "a b", "a=b,", "a in b", "a=b=c", "a in (b")),
        *(("moment", each) for each in ("2026-11-21T02:00:00", "2026-13-21T02:00:00Z", "02:00Z")),
        *(("name", each) for each in ("Search", "-a", "a_b", "a/", "a" * 254)),
        *(("share", each) for each in ("0", "101%", "-2", "half", "1.5")),
        *(("time", each) for each in ("24", "h", "1 week")),
        *(("url", each) for each in ("foo", "ftp://a", "https://", "https://a b")),
    ],
)
def test_a_text_of_another_form_is_not_taken(form: str, wrong: str) -> None:
    assert not FORMS[form].fits(wrong)


@pytest.mark.parametrize("none", [[], "", " "])
def test_groups_are_a_list_or_a_text_of_at_least_one(none: Any) -> None:
    assert said("opensearch_hosts", upgrade_groups="a, b") == []
    (sentence,) = said("opensearch_hosts", upgrade_groups=none)
    assert sentence.endswith("empty: name at least one.")


@pytest.mark.parametrize("nothing", ["", None])
def test_an_answer_of_a_survey_that_is_empty_is_none(nothing: str | None) -> None:
    """AWX marks it as `!unsafe`, with which ansible-core makes null of an empty text from 2.19 on."""
    empty = dict.fromkeys(("upgrade_members", "upgrade_confirm", "upgrade_gate_timeout", "upgrade_batching"), nothing)
    assert said(**empty, upgrade_opensearch_hosts=nothing, upgrade_opensearch_validate_certs=nothing) == []
    assert faults("plan", {"target_version": "3.8.0", "upgrade_namespace": nothing}, (), ENTRIES) == [
        "upgrade_namespace is missing: give it with -e upgrade_namespace=…, or in a file with -e @file.yml."
    ]


def test_an_empty_answer_is_a_fault_if_nobody_can_tell_what_is_meant() -> None:
    assert said("settle", upgrade_wait="", upgrade_recoveries="") == [
        "upgrade_recoveries is '', and must be a whole number, 0 or more.",
        "upgrade_wait is '', and must be true or false.",
    ]


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("upgrade_opensearch_hosts", "https://a:9200,", " has an element that is empty or no text."),
        ("upgrade_opensearch_hosts", [], " is empty: name at least one."),
        ("upgrade_opensearch_request_timeout", SECRET, " must be a whole number, 1 or more."),
        ("upgrade_opensearch_password", [SECRET], " must be text."),
        ("upgrade_opensearch_port_forward_port", "9200a", " must be a whole number, 1 or more."),
        ("upgrade_kubernetes_validate_certs", SECRET, " must be true or false."),
    ],
)  # fmt: skip
def test_a_wrong_option_of_a_connection_is_told_by_its_flat_name_without_its_value(
    name: str, value: Any, fault: str
) -> None:
    assert said(**{name: value}) == [name + fault]


def test_a_misspelt_option_of_a_connection_is_told_without_its_value() -> None:
    (sentence,) = said(upgrade_opensearch_pasword=SECRET)
    assert sentence.startswith("upgrade_opensearch_pasword is not a variable")
    assert sentence.endswith("did you mean upgrade_opensearch_password?")


def test_flat_variables_of_a_connection_that_a_playbook_does_not_have_do_nothing() -> None:
    assert said("opensearch_hosts", upgrade_kubernetes_context="a") == [
        "upgrade_kubernetes_context does nothing in the playbook opensearch_hosts: take it out."
    ]
    assert said("abort", upgrade_kubernetes_context="a") == []


def test_a_value_that_cannot_be_told_yet_is_left_to_the_tasks() -> None:
    given = {**GOOD["plan"], "upgrade_gate_timeout": "{{ not_there }}"}
    assert faults("plan", given, (), ENTRIES, ["upgrade_gate_timeout"]) == []


@pytest.mark.parametrize("playbook", ["opensearch_hosts", "settle"])
def test_on_plain_hosts_nothing_is_kept_in_a_namespace(playbook: str) -> None:
    assert said(playbook, upgrade_record_kept_in="kubernetes", upgrade_gate_timeout=0) == [
        "upgrade_record_kept_in is 'kubernetes', and with upgrade_groups there is no namespace: leave it out.",
        "upgrade_gate_timeout is '0', and must be a whole number, 1 or more.",
    ]
    assert said(playbook, upgrade_record_kept_in="file") == []
    assert said("status", upgrade_record_kept_in="kubernetes") == []


@pytest.mark.parametrize(("playbook", "more"), [("machines", {}), ("settle", {"upgrade_system": MACHINES})])
def test_groups_of_machines_of_kubernetes_have_a_namespace(playbook: str, more: dict[str, Any]) -> None:
    given = {"target_version": "1.36.1", "upgrade_namespace": "up", "upgrade_groups": ["a"], **more}
    found = faults(playbook, {**given, "upgrade_record_kept_in": "kubernetes"}, set(more), specified(MACHINES))
    assert found == []


def test_all_faults_are_said_at_once() -> None:
    assert len(said(upgrade_member="a", upgrade_gate_timeout="soon", upgrade_opensearch={"hosts": []})) == 3


def test_hosts_of_members_have_variables_of_their_own_and_no_misspelt_ones() -> None:
    names = {"m1": ["upgrade_member", "upgrade_package_mirror"], "m2": ["upgrade_membr"], "m3": ["upgrade_membr"]}
    assert faults_of_hosts("opensearch_hosts", names, ENTRIES) == [
        "upgrade_membr of host m2 is not a variable of this playbook: did you mean upgrade_member?"
    ]


def test_groups_that_the_inventory_does_not_have_are_named() -> None:
    inventory, no_such = ["all", "ungrouped", "masters", "workers"], "and the inventory has no such group"
    assert faults_of_groups(["masters", "worker", "x"], inventory) == [
        f"upgrade_groups names worker, {no_such}: did you mean workers?",
        f"upgrade_groups names x, {no_such}: there are masters, workers.",
    ]
    assert faults_of_groups(["all", "masters"], ["all", "ungrouped"]) == [
        "The inventory has no groups, and upgrade_groups names masters: give the inventory with -i."
    ]
    assert faults_of_groups(["all"], ["all", "ungrouped"]) == faults_of_groups(["masters"], inventory) == []


def numbers_in(options: Options, *above: str) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The way to each number in some options, and its option."""
    for name, option in options.items():
        if option.get("type") == "int":
            yield (*above, name), option
        yield from numbers_in(option.get("options", {}), *above, name)


def test_a_number_may_be_0_if_that_is_its_default_or_its_description_says_so() -> None:
    numbers = [*numbers_in({name: each.option for name, each in table().items() if each.playbooks})]
    assert len(numbers) > 15
    for (name, *parts), option in numbers:
        off = option.get("default") == 0 or re.search(r"\b0\b", "".join(option["description"]))
        assert (table()[name].least_of(parts) == 0) == bool(off), (name, *parts)


@pytest.mark.parametrize("playbook", ["plan", "abort", "settle", "status"])
def test_the_system_is_given_where_it_is_read_before_the_inventory(playbook: str) -> None:
    given = {"upgrade_system": "example.lamps.lamps"}
    assert said(playbook, forced=given, **given) == []
    assert said(playbook, **given) == [
        "upgrade_system is set where it is read too late: give it with -e upgrade_system=example.lamps.lamps."
    ]
    assert said(playbook, upgrade_system="stateful.upgrade.opensearch") == []


def test_a_playbook_of_one_system_takes_no_other() -> None:
    (sentence,) = said("opensearch", forced=["upgrade_system"], upgrade_system="example.lamps.lamps")
    assert sentence == "upgrade_system is made by the run itself and cannot be given: take it out."
    assert said("opensearch", upgrade_system="stateful.upgrade.opensearch") == []


def test_a_system_that_nobody_has_is_refused() -> None:
    meant = {"stateful.upgrade.opensaerch": "did you mean stateful.upgrade.opensearch", "nobody.nowhere.x": "there are"}
    for role, ends in meant.items():
        with pytest.raises(AnsibleLookupError, match=f"^upgrade_system is {role}, and no such role.*: {ends}"):
            specified(role)


@pytest.mark.parametrize("playbook", ["plan", "opensearch", "status", "report", "settle", "abort"])
def test_the_file_of_the_documentation_serves_every_playbook(playbook: str) -> None:
    # With all that is commented out.
    given = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8").replace("# upgrade_", "upgrade_"))
    assert faults(playbook, given, given, ENTRIES) == []
