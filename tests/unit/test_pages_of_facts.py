"""Pages that state facts of the project: promises with their tests, codes of reasons, versions needed and tested."""

from __future__ import annotations

import re

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.named_steps import STEPS
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import LEADS_TO

from tests.unit.arrows import ARROWS
from tests.unit.named_tests import NAMED, ROOT, missing, tables

DOCS = ROOT / "docs"
CODE = re.compile(r"`([a-z]+(?:_[a-z]+)+)`")
PROMISES = ("Promise", "Shown by")
BOXES = ("Box", "Here", "Shown by")
ROWS_OF_ARROWS = ("Arrow", "Here", "Shown by")
REQUIREMENTS = ("Number", "Requirement", "Shown by")
NOT_DONE = "; not done: "
"""The start of what is missing of a requirement, after the tests of what is there."""
TRANSITION = re.compile(r"^([A-Z][A-Za-z, ]+) ─ (.+) ─► ([A-Z][a-z]+)", re.MULTILINE)
"""A line of the diagram of phases on the page of the design: those that it leads from, its event, and the next one."""
MOST_WORDS = 15
REQUIREMENTS_OF_MACHINES = "### The requirements of machines in place"
MANAGED = {
    "Course: history: none yet",
    "Course: phase: New",
    "Course: phase: Pending",
    "Course: phase: Upgrading",
    "Course: phase: Completed or Failed",
    "Course: early health check",
    "Course: validation fails",
    "Course: time to upgrade",
    "Course: policy changed",
    "Course: commence",
    "Course: continue",
    "Validation: start time",
    "Validation: image is pulled",
    "Validation: version of the image",
    "Validation: image is valid",
    "Validation: version and channel",
    "Validation: greater than the present one",
    "Validation: next minor: edge of the graph",
    "Validation: same minor: availableUpdates",
    "Engine: next step",
    "Engine: condition: started",
    "Engine: an error",
    "Engine: condition: in progress",
    "Engine: condition: completed",
    "Steps: EnsureExtraUpgradeWorkers: timeout",
    "Run: single passes",
    "Run: paused, resumed, approved",
    "Run: status and report",
    "Run: AWX",
    "Run: Job and CronJob",
    "Run: a fleet",
}
"""The boxes of the diagrams of the managed-upgrade-operator, but for its named steps, and what serves a run."""
BESIDE = re.compile(
    r"^(?:not_confirmed|inputs_wrong|(?:upgrade|before|after)_\w+|target_version|cluster_role|validate_certs)$"
)
"""Words of these pages that are not codes of a verdict: the code of a run, inputs, an option."""


def page(name: str) -> str:
    """The text of a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def test_every_promise_is_shown_by_tests_that_exist() -> None:
    rows = tables(page("promises.md").partition("## Phases")[0], PROMISES)
    assert rows
    for row in rows:
        promise, shown = row
        assert NAMED.findall(shown), promise
        assert NAMED.sub("", shown).replace(",", "").strip() == "", promise
        assert missing(shown) == []


def test_every_transition_between_phases_is_shown_by_a_test_that_exists() -> None:
    phases = page("promises.md").partition("## Phases")[2].partition("## Managed")[0]
    rows = tables(phases, ("Phase", "Event", "Next phase", "Shown by"))
    told = {(phase.strip("`"), event, then.strip("`")) for phase, event, then, _shown in rows}
    leads = {(phase.value, event.value, then.value) for phase, row in LEADS_TO.items() for event, then in row.items()}
    assert told == leads
    for *_transition, shown in rows:
        assert NAMED.fullmatch(shown), shown
        assert missing(shown) == []


def test_the_design_page_draws_every_transition_between_phases_and_no_other() -> None:
    phases = page("design.md").partition("### The record and its phases")[2].partition("## 5.")[0]
    drawn = [(before, event, then) for many, event, then in TRANSITION.findall(phases) for before in many.split(", ")]
    assert sorted(drawn) == sorted(
        (phase.value, event.value, then.value) for phase, row in LEADS_TO.items() for event, then in row.items()
    )


def test_every_box_of_a_managed_upgrade_is_shown_by_tests_that_exist() -> None:
    rows = tables(page("promises.md").partition("## Managed")[2].partition("### The arrows")[0], BOXES)
    boxes = [box for box, *_rest in rows]
    named = {f"Steps: {step.name}" for step in STEPS}
    weaknesses = {f"Weakness {number}" for number in range(1, 13)}
    assert {*boxes} >= MANAGED | named
    assert {box.partition(".")[0] for box in boxes if box.startswith("Weakness")} == weaknesses
    assert len(boxes) == len({*boxes}) == len(MANAGED) + len(named) + len(weaknesses)
    for box, _here, shown in rows:
        assert NAMED.findall(shown), box
        assert missing(shown) == []


def test_every_arrow_of_a_managed_upgrade_is_shown_by_tests_that_exist() -> None:
    rows = tables(
        page("promises.md").partition("### The arrows")[2].partition("### The requirements")[0], ROWS_OF_ARROWS
    )
    assert tuple(arrow for arrow, *_rest in rows) == ARROWS
    # A step has arrows of its own, unless it only leads to the next one.
    plain = {"CommenceUpgrade", "RemoveControlPlaneMaintWindow", "RemoveMaintWindow"}
    assert {step.name for step in STEPS} - {arrow.partition(":")[0].partition(" ")[0] for arrow in ARROWS} == plain
    for arrow, _here, shown in rows:
        assert NAMED.findall(shown), arrow
        assert NAMED.sub("", shown).replace(",", "").strip() == "", arrow
        assert missing(shown) == []


def test_each_requirement_of_a_managed_upgrade_is_shown_by_tests_that_exist() -> None:
    found = page("promises.md").partition("### The requirements")[2].partition("## Machines")[0]
    rows = tables(found, REQUIREMENTS)
    are_numbered_and_shown(rows, 30)
    assert [said.partition(":")[0] for _number, said, _shown in rows[-len(STEPS) :]] == [step.name for step in STEPS]


def test_each_requirement_of_machines_is_shown_by_tests_that_exist_and_says_what_is_missing() -> None:
    rows = tables(page("promises.md").partition(REQUIREMENTS_OF_MACHINES)[2], REQUIREMENTS)
    for number, said, shown in rows:
        assert len(said.split()) <= MOST_WORDS, number
        _tests, found, gap = shown.partition(NOT_DONE)
        assert not found or (gap.endswith(".") and not NAMED.search(gap)), number
    are_numbered_and_shown([(number, said, shown.partition(NOT_DONE)[0]) for number, said, shown in rows], 38)


def are_numbered_and_shown(rows: list[tuple[str, ...]], count: int) -> None:
    """The rows have all numbers up to this one, and nothing but tests that exist."""
    assert [number for number, *_rest in rows] == [str(number) for number in range(1, count + 1)]
    for number, _said, shown in rows:
        assert NAMED.findall(shown), number
        assert NAMED.sub("", shown).replace(",", "").strip() == "", number
        assert missing(shown) == []


def test_every_part_of_an_upgrade_of_machines_is_shown_by_a_test_that_exists() -> None:
    rows = tables(page("promises.md").partition("## Machines")[2].partition(REQUIREMENTS_OF_MACHINES)[0], BOXES)
    assert len(rows) == len({box for box, *_rest in rows})
    for box, _here, shown in rows:
        assert NAMED.findall(shown), box
        assert missing(shown) == []


@pytest.mark.parametrize("name", ["troubleshooting.md", "security.md", "versions.md"])
def test_the_codes_of_a_page_are_in_that_of_the_reasons(name: str) -> None:
    known = set(re.findall(r"^\| `(\w+)` \|", page("reference/reasons.md"), re.M))
    used = {code for code in CODE.findall(page(name)) if not BESIDE.match(code)}
    assert used
    assert used - known == set()


def test_the_versions_are_those_of_the_requirements_and_of_the_locks() -> None:
    text = page("versions.md")
    for lock in ("oldest", "dev", "newest"):
        pinned = re.search(r"^ansible-core==(\d+\.\d+)", (ROOT / f"requirements/{lock}.in").read_text("utf-8"), re.M)
        assert pinned is not None
        assert pinned[1] in text
    needed = yaml.safe_load((ROOT / "meta/runtime.yml").read_text("utf-8"))["requires_ansible"]
    assert f"| {needed.removeprefix('>=').removesuffix('.0')} and later |" in text
    for package, version in re.findall(
        r"^([\w-]+)>=([\d.]+)$", (ROOT / "meta/ee-requirements.txt").read_text("utf-8"), re.M
    ):
        assert re.search(rf"`{package}`[^|]* \| {re.escape(version)} and later", text)
    for server in (ROOT / "tests/lab/opensearch/locks").glob("*.json"):
        assert server.stem in text
    modules = (ROOT / "tests/lab/control_plane/go.mod").read_text("utf-8")
    assert f"| {'.'.join(re.findall(r'k8s.io/kubernetes v(.+)', modules)[0].split('.')[:2])} |" in text
