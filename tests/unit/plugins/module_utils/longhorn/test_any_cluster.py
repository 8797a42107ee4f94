"""Any cluster, any fault at any time, a kill before any act, and a run that continues.

No act leaves an attached volume without a healthy replica, or an engine without a running instance manager. Everything
is put back, and no node is done twice. More clusters: `--hypothesis-profile search`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Reason
from hypothesis import HealthCheck, currently_in_test_context, event, example, given, settings

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.description import NEW_IMAGE, OLD_IMAGE, QUICK, Described, Machine, Volume
from tests.sandbox.longhorn.kinds import CRON_JOBS, MANAGERS, NODES, SETTINGS, VOLUMES
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.sandbox.longhorn.observer import INTERRUPTED, Loss
from tests.unit.plugins.module_utils.longhorn.any_cluster import AT_ONCE, NEVER, Case, cases, large, large_cases, spoil
from tests.unit.plugins.module_utils.longhorn.driving import Driver, Killed, Killing

LONG: dict[str, Any] = {"wait_timeout": 900, "wait_sleep": 5.0}
OURS = "upgrade.stateful/"


class Replacements:
    """The instance managers of the old image that were deleted while something ran in them, by node."""

    def __init__(self, longhorn: Longhorn) -> None:
        self.of: Counter[str] = Counter()
        longhorn.objects.listeners.append(self._seen)

    def _seen(self, kind: Kind, item: Json, gone: bool) -> None:
        if kind == MANAGERS and gone and item["spec"]["image"] == OLD_IMAGE:
            self.of[item["spec"]["nodeID"]] += 1


def wishes(longhorn: Longhorn) -> dict[str, Any]:
    """All that a run changes for a while: by the name of the object, its value and the annotations of runs."""
    found: dict[str, Any] = {}
    for item in longhorn.objects.all(NODES):
        found[f"node {item['metadata']['name']}"] = (item["spec"]["allowScheduling"], _notes(item))
    for item in longhorn.objects.all(VOLUMES):
        spec = item["spec"]
        wanted = (spec.get("engineNodeID", ""), spec["numberOfReplicas"])
        found[f"volume {item['metadata']['name']}"] = (wanted, _notes(item))
    for item in longhorn.objects.all(SETTINGS):
        found[f"setting {item['metadata']['name']}"] = (item["value"], _notes(item))
    for item in longhorn.objects.all(CRON_JOBS):
        found[f"job {item['metadata']['name']}"] = (bool(item["spec"].get("suspend")), _notes(item))
    return found


def _notes(item: Json) -> list[str]:
    return [each for each in item["metadata"].get("annotations") or {} if each.startswith(OURS)]


def switched(driver: Driver, case: Case) -> None:
    """Runs as the playbook makes them, until all is done. After each interruption a person allows the next one."""
    for _attempt in range(AT_ONCE + 2):
        refused = one_run(driver, case)
        if not refused:
            return
        noted("refused after an interruption")
        driver.interrupted += [each.message for each in refused]
        assert driver.switch(state="restored", **LONG).verdict.passed
        assert driver.switch(state="cleaned").verdict.passed
        assert driver.longhorn.until(lambda: driver.snapshots() == 0)
    raise AssertionError(driver.said)


def one_run(driver: Driver, case: Case) -> tuple[Reason, ...]:
    """One run: plan, put back what is not gone on with, then node by node. The result refuses an interruption."""
    more = {**LONG, "extra_replicas": case.extra_replicas}
    planned = driver.plan(nodes=list(case.chosen), **more)
    if by_interruption(planned):
        return planned.verdict.deciding()
    assert planned.verdict.passed, planned.verdict
    order = [each for batch in planned.more["batches"] for each in batch["members"]]
    assert driver.switch(state="restored", keep=order, **LONG).verdict.passed
    for name in order:
        done = driver.switch(name, **more)
        if not done.verdict.passed and waits_for_closed_node(case, done):
            noted("refused until the wait for replicas is put back")
            assert driver.switch(state="restored", **LONG).verdict.passed
            done = driver.switch(name, **more)
        if by_interruption(done):
            return done.verdict.deciding()
        assert done.verdict.passed, (name, done.verdict, driver.said)
    back = driver.switch(state="restored", **LONG)
    assert back.verdict.passed, back.verdict
    return ()


def by_interruption(done: Outcome) -> bool:
    """Whether it is refused because a volume was interrupted, and for nothing else."""
    codes = {each.code for each in done.verdict.deciding()}
    return bool(codes) and codes <= {"volume_interrupted", "interrupted_before"}


def waits_for_closed_node(case: Case, done: Outcome) -> bool:
    """Whether nothing but replicas on nodes that take none is missing. The refusal names these nodes.

    Longhorn rebuilds such a replica neither there nor elsewhere while a run has it wait for lost replicas. Settle ends
    that wait, and another one is built.
    """
    shut = [each.name for each in case.described.machines if not each.schedulable]
    missing = [each for each in done.verdict.deciding() if each.code == "volume_degraded"]
    return bool(missing) and all(any(name in each.remedy for name in shut) for each in missing)


def noted(what: str) -> None:
    """Count this among the events of the examples."""
    if currently_in_test_context():
        event(what)


def spoilt(driver: Driver, case: Case) -> None:
    """A run that a fault meets and that may be killed. It may end well; if it is refused, it says of what."""
    clock = driver.longhorn.clock
    comes = clock.now() + case.after
    clock.later(case.after, lambda: spoil(driver.longhorn, case))
    driver.guard = Killing(case.killed_before)
    described = case.described
    names = [*(each.name for each in described.machines), *(each.name for each in described.volumes)]
    try:
        for name in case.chosen:
            done = driver.switch(name, extra_replicas=case.extra_replicas, wait_timeout=90, wait_sleep=3.0)
            if not done.verdict.passed:
                said = " ".join(each.message for each in done.verdict.deciding())
                noted("refused by " + ", ".join(sorted({each.code for each in done.verdict.deciding()})))
                assert any(each in said for each in names), said
                break
        else:
            noted("done in spite of it")
    except Killed:
        noted("killed")
    clock.advance(max(0.0, comes - clock.now()) + 1.0)


def taken_by_acts(longhorn: Longhorn) -> list[Loss]:
    """The losses by acts. Longhorn 1.13 leaves engines of standby volumes, which no one uses, where they are."""
    standby = {each.name for each in longhorn.described.volumes if each.standby}
    passed_over = standby if longhorn.described.offers == "v1.13" else set()
    found = [each for each in longhorn.observer.by_acts if each.volume not in passed_over]
    return [each for each in found if longhorn.described.frontends_outlive or each.what != INTERRUPTED]


def told_of_interruptions(driver: Driver, case: Case) -> None:
    """Fails if an act has interrupted a volume, and no run has named it.

    Longhorn's own upgrades carry no note of how volumes were attached, so that of a killed run may end unreported.
    """
    if case.described.offers and case.killed_before < NEVER:
        return
    told = " ".join((*driver.said, *driver.interrupted))
    for each in driver.longhorn.observer.by_acts:
        assert each.what != INTERRUPTED or each.volume in told, (each, told)


def played(drive: type[Driver], case: Case) -> None:
    longhorn = Longhorn(case.described, pace=QUICK)
    driver, was, replacements = drive(longhorn), wishes(longhorn), Replacements(longhorn)
    planned = driver.plan(nodes=list(case.chosen), extra_replicas=case.extra_replicas)
    if case.single and not case.extra_replicas:
        assert "single_replica" in {each.code for each in planned.verdict.deciding()}, planned.verdict
        assert wishes(longhorn) == was
        return
    if not planned.verdict.passed:
        codes = {each.code for each in planned.verdict.deciding()} - {"timed_out"}
        assert codes <= {*(["no_room_for_replica"] if case.single else []), *case.closed}, planned.verdict
        assert wishes(longhorn) == was
        return
    spoilt(driver, case)
    assert taken_by_acts(longhorn) == [], driver.said
    longhorn.faults.mend_all([each.name for each in case.described.machines])
    driver.run, driver.guard = "run-2", None
    switched(driver, case)
    assert taken_by_acts(longhorn) == [], driver.said
    told_of_interruptions(driver, case)
    there = {key: value for key, value in was.items() if key in wishes(longhorn)}
    assert wishes(longhorn) == there
    assert {driver.images()[each] for each in case.chosen} <= {NEW_IMAGE.rpartition(":")[2]}
    assert set(replacements.of.values()) <= {1}
    again = driver.switch(*case.chosen)
    assert (again.verdict.passed, again.changed) == (True, False), again.verdict


def examples(percent: int) -> settings:
    """So much of the examples of the profile. Each takes half a second."""
    slow = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=settings().max_examples * percent // 100, suppress_health_check=slow)


CLOSED = Case(
    Described(
        tuple(
            Machine(f"n{each}", image=NEW_IMAGE if each == 2 else OLD_IMAGE, schedulable=each != 2)
            for each in range(1, 8)
        ),
        (Volume("v1", ("n1", "n2", "n3"), "n1"),),
        frontends_outlive=True,
    ),
    "a manager never runs",
    node="n2",
    volume="v1",
    after=0.0,
)
"""The only replica that is lost was on a node that takes none."""


@examples(25)
@given(case=cases())
@example(case=CLOSED)
def test_any_cluster_comes_to_a_good_end_from_outside(drive: type[Driver], case: Case) -> None:
    played(drive, case)


@examples(10)
@given(case=cases("v1.13"))
def test_any_cluster_comes_to_a_good_end_with_the_kinds_of_1_13(drive: type[Driver], case: Case) -> None:
    played(drive, case)


@examples(10)
@given(case=cases("design"))
def test_any_cluster_comes_to_a_good_end_with_the_kinds_of_the_design(drive: type[Driver], case: Case) -> None:
    played(drive, case)


@examples(2)
@given(case=large_cases())
@example(case=large(12, 60, 2, "a node dies"))
@example(case=large(50, 500, 1, "the controllers are away"))
def test_a_large_cluster_comes_to_a_good_end(drive: type[Driver], case: Case) -> None:
    played(drive, case)
