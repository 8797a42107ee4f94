"""Aborts of an upgrade of machines behind each act of its run: it ends where it is known what has been done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs import chosen, executor
from tests.runs.driver import BegunHere
from tests.runs.machines import CHECK, PLAYBOOK, SERVED
from tests.runs.owned_machines import SKIP, OwnedMachines, management, owned
from tests.runs.sampled import one_in
from tests.runs.task_documents import record
from tests.runs.test_machine_marks import DONE
from tests.runs.test_upgrade_tasks_elsewhere import left, served
from tests.runs.upgrade_tasks import TO, Tasks, Upgrader, abort_it
from tests.runs.world import is_act
from tests.sandbox.monitoring.alertmanager import Alertmanager
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played, digest_in

ABORT = "stateful.upgrade.abort"
MACHINES = ("cp-1", "cp-2")
NOTHING = "No upgrade is in progress, so none was aborted."
ROLE = "stateful.upgrade.member_delegated"
Both = tuple[Tasks, OwnedMachines]


@pytest.fixture
def both() -> Iterator[Both]:
    """A cluster, and another one with its Machines and its UpgradeTasks."""
    with owned(separate=True, workers=1) as made:
        yield made


class Aborted:
    """A run of which an abort is asked for behind one of its acts."""

    def __init__(self, both: Both, number: int) -> None:
        self.tasks, self.machines = both
        self.found, self.here = self.tasks.found, self.tasks.here
        self.alerts = Alertmanager(self.found.cluster.shared.clock)
        url = self.here.calling.serve(self.alerts).url
        silences = {"upgrade_alertmanager_url": url, "upgrade_silences": ['namespace="web"']}
        self.more: dict[str, Any] = {**silences, **management(self.tasks)}
        self.begun: set[str] | None = None
        """The machines on which work had started when the abort was asked for; None before it was."""
        self._left = number

    def is_due(self, request: Request) -> bool:
        """Whether the abort is to be asked for behind this request."""
        self._left -= is_act(request.method, request.path)
        if self._left or self.begun is not None:
            return False
        self.begun = self.at_work() | self.done()
        return True

    def at_work(self) -> set[str]:
        """The machines that nothing may replace, since a run works on them."""
        return {name for name, notes in self.machines.marked().items() if SKIP in notes}

    def done(self) -> set[str]:
        """The machines that are on the target."""
        return {name for name, each in self.found.machines.items() if each.kubelet.version == TO}

    def has_ended(self, ended: Played, said: str) -> None:
        """Fails unless the run, which has shown this and what else is said, has left nothing that it does not name."""
        assert self.begun is not None, "there is no such act"
        if ended.code == 0:
            # It came before the run had the lock, or when the last machine was at hand.
            assert NOTHING in said or self.begun == {*MACHINES}
            assert self.done() == {*MACHINES}
        else:
            assert len(self.done() - self.begun) <= 1, "no machine is begun behind the one at hand"
            assert record(self.found)["phase"] == "Aborted", ended.output
        for machine in self.found.machines.values():
            assert all(each.ended is not None for each in machine.processes), f"{machine.name} is still at work"
        stay = left(self.tasks)
        assert [name for name in stay if f"Machine {name} stays cordoned" not in ended.output + said] == []
        assert self.machines.marked().keys() <= {*stay}
        conditions = self.machines.conditions()
        assert {conditions[name] for name in conditions if name not in stay} <= {DONE, None}
        assert self.alerts.active() == set()

    def is_finished(self, ended: Played) -> None:
        """Fails unless this run has upgraded what was left, and everything is put back."""
        assert ended.code == 0, ended.output
        assert self.done() == {*MACHINES}
        assert (left(self.tasks), self.machines.marked(), self.alerts.active()) == ([], {}, set())
        assert self.found.cluster.control_plane.least_voters >= 2


@pytest.mark.parametrize("number", one_in(15, range(31, 161, 2)))
def test_an_abort_behind_any_act_ends_the_run_where_it_is_known_what_was_done(both: Both, number: int) -> None:
    tasks, _machines = both
    aborted = Aborted(both, number)
    given = tasks.found.variables(TO, USER, upgrade_only=[*MACHINES], **aborted.more)
    planned = tasks.here.play(PLAYBOOK, given, *tasks.found.arguments, CHECK)
    given["upgrade_confirm"] = digest_in(planned)
    second: list[BegunHere] = []
    own = {name: given[name] for name in ("upgrade_namespace", "upgrade_kubernetes", *aborted.more)}

    def ask(request: Request) -> None:
        if aborted.is_due(request):
            second.append(BegunHere(executor.a_run(), lambda _shown: chosen.play(ABORT, {**own, **SERVED})))

    tasks.here.calling.after = ask
    ended = tasks.play(given)
    assert second, ended.output
    assert second[0].wait() == 0, second[0].output
    aborted.has_ended(ended, second[0].output)
    if ended.code:
        assert served(tasks, "resume").code == 0
        aborted.is_finished(tasks.play(given))


@pytest.mark.parametrize("number", one_in(14, range(1, 71)))
def test_an_abort_of_the_task_behind_any_act_lets_delegated_work_end(both: Both, number: int) -> None:
    tasks, _machines = both
    aborted, upgrader = Aborted(both, number), Upgrader(tasks.found)
    given = {"upgrade_member_role": ROLE, **aborted.more}
    tasks.request(machines=MACHINES)
    agreed = tasks.agreed(**given)

    def ask(request: Request) -> None:
        upgrader.look(request)
        if aborted.is_due(request):
            abort_it(tasks)

    tasks.here.calling.after = ask
    ended = tasks.play(agreed)
    aborted.has_ended(ended, "")
    phases = {each["status"]["phase"] for each in upgrader.resources.store.list(upgrader.kind)}
    assert phases <= {"Ready", "Aborted"}, "all of it has ended"
    if ended.code:
        assert (tasks.phase(), tasks.progress()) == ("Abort", {})
        tasks.request("again", machines=MACHINES)
        aborted.is_finished(tasks.play(tasks.agreed("again", **given)))
