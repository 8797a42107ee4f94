"""All processes are stopped before the first one starts, once each, whenever the run is killed and no one answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import (
    Refusal,
    Unreachable,
    refusal,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Namespace
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.phases import CLUSTER, PHASE
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.ownership import of_own_cluster
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import name_for
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes import objects
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import state_answer
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.agent_world import Agent, AgentWorld
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.world import NAMES, Killed, World

Json = dict[str, Any]
FIRST = [f"{name}/1" for name in NAMES]
SECOND = [f"{name}/2" for name in NAMES]


@dataclass
class OfAgents(Servers):
    """The cluster of the members, which does not answer while none runs."""

    agents: Mapping[str, Agent] = field(default_factory=dict)
    answers: bool = True
    """Whether processes that were started again answer."""
    refuses: str = ""
    """The code of the refusal with which each process answers; empty if they serve the user."""
    refusals: int = -1
    """The number of such answers, after which they serve the user; -1 for all."""

    def _served(self, method: str, path: str, body: Any = None) -> Json:
        if self.refuses and self.refusals:
            self.refusals -= 1
            raise refusal(self.refuses, "It does not accept the connection.", "Correct it.")
        if not any(agent.running for agent in self.agents.values()):
            raise Unreachable.because("opensearch_unreachable", "No member answers.", "Wait.")
        if not self.answers and not any(agent.running and agent.number == 1 for agent in self.agents.values()):
            raise Unreachable.because("opensearch_unreachable", "The server speaks another scheme.", "Correct it.")
        return super()._served(method, path, body)


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> AgentWorld:
    """Three members that are to restart at once. No process may start while one of the first ones runs."""
    world = AgentWorld()
    world.servers = OfAgents(state=world.servers.state, nodes=world.servers.nodes, agents=world.agents)
    for name in NAMES:
        world.annotate(name, restart_phase="schedule-coordinated")
    start = Agent.start

    def guarded(agent: Agent, request: str, checksum: str) -> Any:
        assert not [each.pod for each in world.agents.values() if each.running and each.number == 1]
        return start(agent, request, checksum)

    monkeypatch.setattr(Agent, "start", guarded)
    return world


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def restarted(world: AgentWorld, **params: Any) -> Json:
    return world.restart(*NAMES, allow_full_restart=True, **params)


def test_all_are_stopped_and_then_all_are_started(there: AgentWorld) -> None:
    result = restarted(there)
    assert codes(result) == []
    assert (sorted(there.stopped), sorted(there.started), there.phases()) == (FIRST, SECOND, {})
    assert {member["action"] for member in result["members"]} == {"restarted"}
    assert result["downtime_seconds"] > 0


@pytest.mark.parametrize("kill_at", range(30))
def test_a_run_that_is_killed_at_an_act_goes_on_and_nobody_is_stopped_twice(there: AgentWorld, kill_at: int) -> None:
    """The acts are, each for all three: the mark, the stop, the mark, the start, the end of the marks."""
    there.kill_at = kill_at
    try:
        restarted(there)
    except Killed:
        there.kill_at = None
    assert codes(restarted(there)) == []
    assert (sorted(there.stopped), sorted(there.started), there.phases()) == (FIRST, SECOND, {})


def test_every_act_was_killed_at(there: AgentWorld) -> None:
    restarted(there)
    assert there.acts * 2 == 30


def test_a_run_finds_what_was_interrupted_by_itself_while_nobody_answers(there: AgentWorld) -> None:
    there.kill_at = 18
    with pytest.raises(Killed):
        restarted(there)
    there.kill_at = None
    assert not [agent.pod for agent in there.agents.values() if agent.running]
    result = there.restart(state="resumed", pools=[], expected=[])
    assert (codes(result), len(result["members"]), there.phases()) == ([], 3, {})
    assert (sorted(there.stopped), sorted(there.started)) == (FIRST, SECOND)
    again = there.restart(state="resumed", pools=[], expected=[])
    assert (codes(again), again["members"], again["changed"]) == ([], [], False)


def test_a_restart_of_another_cluster_of_the_namespace_is_left_to_its_own_run(there: AgentWorld) -> None:
    there.kill_at = 7
    with pytest.raises(Killed):
        restarted(there)
    there.kill_at = None
    before, own, there.servers = (there.phases(), [*there.stopped], [*there.started]), there.servers, Servers()
    result = there.restart(state="resumed", pools=[], expected=[])
    assert (codes(result), result["members"], result["changed"]) == ([], [], False)
    assert (there.phases(), there.stopped, there.started) == before
    there.servers = own
    result = there.restart(state="resumed", pools=[], expected=[])
    assert (codes(result), len(result["members"]), there.phases()) == ([], 3, {})


def leased(world: AgentWorld, monkeypatch: pytest.MonkeyPatch, *, alive: bool, allowed: bool) -> None:
    """The run that was killed still has its lock. It is of another machine, which renews it if that run lives."""

    def get(path: str) -> Json:
        assert path.endswith("/namespaces/search/leases/stateful-upgrade-other")
        renewed = f"2026-01-01T00:00:{world.time % 60:02.0f}Z" if alive else "2026-01-01T00:00:00Z"
        spec = {"holderIdentity": "r1", "renewTime": renewed, "leaseDurationSeconds": 60}
        return {"metadata": {"uid": "u", "resourceVersion": "1", "annotations": {}}, "spec": spec}

    monkeypatch.setattr(world, "get", get, raising=False)
    post = world.post

    def reviewed(path: str, body: Any, dry_run: bool = False) -> Json:
        return {"status": {"allowed": allowed}} if "accessreviews" in path else post(path, body, dry_run)

    monkeypatch.setattr(world, "post", reviewed)


@pytest.mark.parametrize(("alive", "allowed"), [(True, True), (False, True), (True, False)])
def test_without_an_answer_no_restart_of_a_living_run_is_joined(
    there: AgentWorld, monkeypatch: pytest.MonkeyPatch, alive: bool, allowed: bool
) -> None:
    """A user who may not read Leases keeps the lock in the cluster, so that nothing shows whether that run lives."""
    there.kill_at = 18
    with pytest.raises(Killed):
        restarted(there, lock={"run": "r1", "name": "stateful-upgrade-other"})
    there.kill_at = None
    leased(there, monkeypatch, alive=alive, allowed=allowed)
    before = (there.phases(), [*there.stopped], [*there.started])
    result = there.restart(state="resumed", pools=[], expected=[])
    if alive and allowed:
        assert codes(result) == ["locked"]
        assert (there.phases(), there.stopped, there.started) == before
    else:
        assert (codes(result), len(result["members"]), there.phases()) == ([], 3, {})


@pytest.mark.parametrize("named", [True, False])
def test_without_an_answer_the_pools_that_the_user_names_are_its_own(there: AgentWorld, named: bool) -> None:
    there.kill_at = 18
    with pytest.raises(Killed):
        restarted(there)
    there.kill_at = None
    before = (there.phases(), [*there.started])
    result = there.restart(state="resumed", pools=["data" if named else "of-another-cluster"], expected=[])
    assert (codes(result), len(result["members"])) == ([], 3 if named else 0)
    assert ((there.phases(), there.started) == before) is not named


def test_a_cluster_that_answers_knows_its_members_whatever_pools_the_user_names(there: AgentWorld) -> None:
    there.kill_at = 18
    with pytest.raises(Killed):
        restarted(there)
    there.kill_at = None
    there.servers = Servers(state=state_answer(NAMES, [], elected="data-0"), nodes=there.servers.nodes)
    result = there.restart(state="resumed", pools=["managers"], expected=[])
    assert (codes(result), len(result["members"]), there.phases()) == ([], 3, {})


@pytest.mark.parametrize("refused_by", ["opensearch_credentials", "opensearch_rights"])
def test_a_cluster_that_refuses_the_user_is_not_taken_for_a_silent_one(there: AgentWorld, refused_by: str) -> None:
    there.kill_at = 18
    with pytest.raises(Killed):
        restarted(there)
    there.kill_at = None
    before = (there.phases(), [*there.started])
    own, there.servers = there.servers, OfAgents(refuses=refused_by)
    result = there.restart(state="resumed", pools=[], expected=[])
    assert (codes(result), (there.phases(), there.started)) == ([refused_by, "restart_owner_unknown"], before)
    # The user may know better. Once all run, the connection has to serve.
    there.servers = replace(cast(OfAgents, own), refuses=refused_by)
    result = there.restart(state="resumed", pools=["data"], expected=[], wait_timeout=120)
    assert codes(result) == [refused_by]
    assert sorted(there.started) == SECOND


def test_a_process_that_speaks_another_scheme_is_a_silent_one(there: AgentWorld) -> None:
    there.kill_at = 18
    with pytest.raises(Killed):
        restarted(there)
    there.kill_at, there.servers = None, replace(cast(OfAgents, there.servers), refuses="opensearch_tls")
    assert codes(there.restart(state="resumed", pools=[], expected=[])) == ["opensearch_tls"]
    assert sorted(there.started) == SECOND


def test_a_member_that_refuses_the_connection_keeps_no_other_one_stopped(there: AgentWorld) -> None:
    """Started before the others, it speaks another scheme, or knows other users."""
    there.kill_at = 19
    with pytest.raises(Killed):
        restarted(there)
    assert there.started == ["data-0/2"]
    there.kill_at, there.servers = None, replace(cast(OfAgents, there.servers), refuses="opensearch_credentials")
    assert codes(restarted(there, wait_timeout=120)) == ["opensearch_credentials"]
    assert sorted(there.started) == SECOND


def test_users_that_no_one_knows_before_there_is_a_manager_end_no_restart(there: AgentWorld) -> None:
    there.kill_at = 19
    with pytest.raises(Killed):
        restarted(there)
    later = replace(cast(OfAgents, there.servers), refuses="opensearch_credentials", refusals=8)
    there.kill_at, there.servers = None, later
    assert (codes(restarted(there)), later.refusals, there.phases()) == ([], 0, {})
    assert sorted(there.started) == SECOND


def marked_by(locks: Mapping[str, Mapping[str, str]], **params: Any) -> Any:
    """The own pools of a cluster that does not answer, of pools with one pod each, by their annotations."""
    pods = tuple(replace(objects.member(name), annotations=found) for name, found in locks.items())
    task = Task({"pools": [], "namespace": "search", "annotation": PHASE, "lock": None, **params})
    found = {name.rpartition("-")[0]: [name] for name in locks}
    return of_own_cluster(task, cast(Any, None), cast(Any, OfAgents()), Namespace("search", (), pods), found)


def test_without_an_answer_restarts_of_several_clusters_are_separated_by_the_user_alone() -> None:
    locks = {f"{name}-0": {CLUSTER: name, PHASE: "start-coordinated"} for name in ("one", "another")}
    with pytest.raises(Refusal) as refused:
        marked_by(locks)
    (reason,) = refused.value.verdict.reasons
    assert reason.code == "restarts_of_several_clusters"
    assert "another (lock another), one (lock one)" in reason.message
    assert [*marked_by(locks, pools=["one"], lock={"name": "one"})] == ["one"]


def test_without_an_answer_pods_that_only_wait_and_name_no_lock_are_left_out() -> None:
    """A run that has stopped a process has noted its lock on all pods, so that these are of another cluster."""
    locks = {"one-0": {CLUSTER: "one", PHASE: "stop-coordinated"}, "other-0": {PHASE: "schedule-coordinated"}}
    assert marked_by(locks, lock={"name": "one"}) == {"one": ["one-0"]}


def test_a_restart_of_a_named_pool_is_taken_with_all_pools_that_it_has_stopped() -> None:
    """Without the managers no member of the named pool would join again."""
    lock = {CLUSTER: "stateful-upgrade-own"}
    marks = {"data-0": lock, "managers-0": lock, "other-0": {CLUSTER: "another"}}
    pods = tuple(replace(objects.member(name), annotations=marks[name]) for name in marks)
    task = Task(
        {"pools": ["data"], "namespace": "search", "annotation": PHASE, "lock": {"name": "stateful-upgrade-own"}}
    )
    found = {name.rpartition("-")[0]: [name] for name in marks}
    there = Namespace("search", (), pods)
    own = of_own_cluster(task, cast(Any, None), cast(Any, OfAgents()), there, found)
    assert [*own] == ["data", "managers"]


def test_members_that_a_person_has_scheduled_are_not_joined_to_the_restart_of_another_cluster(
    there: AgentWorld,
) -> None:
    """Neither of the two names a run, since people have scheduled both."""
    for name in ("data-0", "data-1"):
        there.annotate(name, restart_phase="stop-coordinated", restart_cluster="stateful-upgrade-other")
        there.agents[name].running = False
    there.servers = Servers(state=state_answer(["data-2"], [], elected="data-2"), nodes=there.servers.nodes)
    result = there.restart(state="resumed", pools=[], expected=[], wait=False)
    assert (codes(result), result["members"], there.started) == ([], [], [])


def test_pods_of_another_cluster_that_a_person_has_scheduled_are_not_joined_before_their_own_restart_begins(
    there: AgentWorld,
) -> None:
    """They name no run and no lock yet. One of this cluster that waits still is a member, since it runs."""
    there.servers = Servers(state=state_answer(["data-0"], [], elected="data-0"), nodes=there.servers.nodes)
    for name in ("data-0", "data-1"):
        own = {"restart_cluster": name_for(str(there.servers.state["cluster_uuid"]))}
        there.annotate(name, restart_phase="stop-coordinated", **own)
    there.agents["data-1"].running = False
    there.agents["data-2"].number = 2
    result = there.restart(state="resumed", pools=[], expected=[], wait_timeout=20)
    assert [member["name"] for member in result["members"]] == ["data-0", "data-1"]
    assert there.stopped == ["data-0/1"]


def test_a_restart_that_has_not_begun_is_left_to_the_plan(there: AgentWorld) -> None:
    result = there.restart(state="resumed", pools=[], expected=[])
    assert (codes(result), there.stopped) == ([], [])


def test_a_word_that_is_no_phase_is_told(there: AgentWorld) -> None:
    there.annotate("data-1", restart_phase="soon")
    assert codes(there.restart(state="resumed", pools=[], expected=[], wait=False)) == ["phase_unknown"]


def test_without_consent_nothing_is_stopped(there: AgentWorld) -> None:
    result = there.restart(*NAMES, wait=False)
    assert (codes(result), there.stopped) == (["full_restart_not_allowed"], [])


def test_the_cause_is_named_for_which_no_server_answers(there: AgentWorld) -> None:
    assert isinstance(there.servers, OfAgents)
    there.servers.answers = False
    result = restarted(there, wait_timeout=30)
    assert (sorted(there.started), "timed_out" in codes(result)) == (SECOND, True)
    assert "has not joined the cluster yet. The server speaks another scheme." in str(result["verdict"])


def test_a_part_of_the_cluster_is_refused(there: AgentWorld) -> None:
    result = there.restart("data-1", wait=False, allow_full_restart=True)
    assert (codes(result), there.stopped) == (["together_without_all"], [])


def test_the_kubelet_cannot_do_it() -> None:
    world = World()
    for name in NAMES:
        world.annotate(name, restart_phase="schedule-coordinated")
    result = world.restart(*NAMES, wait=False, allow_full_restart=True)
    assert (codes(result), world.stopped) == (["together_needs_agent"], [])


def test_a_cluster_that_is_not_whole_is_not_stopped(there: AgentWorld) -> None:
    result = restarted(there, wait=False, expected=[*NAMES, "data-3"])
    assert (codes(result) != [], there.stopped) == (True, [])


@pytest.mark.parametrize("wait", [True, False])
def test_nothing_is_stopped_while_a_pod_is_not_ready_already(there: AgentWorld, wait: bool) -> None:
    there.ready("data-1", ready=False)
    result = restarted(there, wait=wait, wait_timeout=20)
    assert ("together_not_ready" in codes(result), there.stopped) == (True, [])
    assert "data-1 is not Ready" in str(result["verdict"])
    there.on_tick.append(lambda: there.ready("data-1", ready=True))
    assert codes(restarted(there)) == []


def test_a_member_that_a_person_wants_stopped_need_not_be_ready(there: AgentWorld) -> None:
    there.annotate("data-1", stop="true")
    there.ready("data-1", ready=False)
    assert "together_not_ready" not in codes(restarted(there, wait=False))


def test_nobody_starts_before_an_agent_that_gives_no_answer_has_told_of_its_process(there: AgentWorld) -> None:
    there.kill_at = 12
    with pytest.raises(Killed):
        restarted(there)
    there.kill_at = None
    there.agents["data-2"].reachable = False
    assert "timed_out" in codes(restarted(there, wait_timeout=20))
    assert there.started == []
    there.agents["data-2"].reachable = True
    assert codes(restarted(there)) == []
    assert sorted(there.started) == SECOND


def test_a_container_that_begins_anew_is_not_taken_for_a_stopped_process(there: AgentWorld) -> None:
    there.kill_at = 12
    with pytest.raises(Killed):
        restarted(there)
    there.kill_at = None
    status = there.pods["data-2"]["status"]
    up = status["containerStatuses"]
    status["containerStatuses"] = [objects.waiting("CrashLoopBackOff", "back-off", 1, {"exitCode": 1})]
    assert codes(restarted(there, wait_timeout=20)) != []
    assert there.started == []
    status["containerStatuses"] = up
    assert codes(restarted(there)) == []
