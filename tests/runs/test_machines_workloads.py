"""An OpenSearch that lives on the workers of a kubeadm cluster, and is named with its connection."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.runs.machines import ENABLE, NAMESPACE, PLAYBOOK, Machines, Tenant, machines
from tests.runs.observer.looking import RECORD
from tests.runs.random_runs.resident import PASSWORD
from tests.runs.test_machines_databases import slow
from tests.runs.turns import Killed
from tests.runs.world import world
from tests.sandbox.kubernetes.controllers.scheduler import LOCAL_CLASS
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.longhorn.description import QUICK, Described, Volume
from tests.sandbox.longhorn.description import Machine as LonghornMachine
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.sandbox.web import Request
from tests.scenarios.playbook import Played

FROM, TO = "1.35.4", "1.36.1"
SETTINGS, VOTES = "/_cluster/settings", "/_cluster/voting_config_exclusions"


@pytest.fixture
def found() -> Iterator[Machines]:
    """A machine of the control plane and four workers."""
    with world() as here, machines(here, FROM, [TO], control_plane=1, workers=4) as made:
        yield made


def upgraded(found: Machines, tenant: Tenant, **more: Any) -> Played:
    """A run in which the database is named."""
    return found.upgraded(TO, upgrade_allow_quorum_loss=True, **{"upgrade_workloads": [tenant.workload()], **more})


@contextmanager
def killing_behind(found: Machines, method: str, path: str, number: int) -> Iterator[None]:
    """A run is killed after its act of this number with this method, on a path that starts so."""
    before, left = found.here.calling.after, number

    def count(request: Request) -> None:
        nonlocal left
        before(request)
        left -= request.method == method and request.path.startswith(path)
        if left == 0:
            raise Killed

    found.here.calling.after = count
    try:
        yield
    finally:
        found.here.calling.after = before


def is_as_before(tenant: Tenant) -> None:
    """Fails unless nothing of a run is left in the database, and every member may vote."""
    assert tenant.changed_settings() == {}
    assert not tenant.servers.state.exclusions


def test_members_are_made_ready_before_each_machine_and_all_is_put_back(found: Machines) -> None:
    tenant = Tenant(found)
    slow(tenant)
    ended = upgraded(found, tenant)
    assert ended.code == 0, ended.output
    assert found.cluster.is_upgraded(TO)
    assert tenant.breaches == []
    assert len(tenant.cordoned) >= 2
    assert tenant.unready == []
    is_as_before(tenant)
    assert "has handed over to" in ended.output
    assert PASSWORD not in ended.output


def test_passes_that_never_wait_take_a_batch_to_its_end(found: Machines) -> None:
    """A pass starts no batch that the database cannot spare; one that has started is completed."""
    tenant, faults = Tenant(found), found.here.sandbox.faults
    away = min(tenant.places())
    faults.crash_loop(tenant.cluster.namespace, away)
    found.here.later(60)
    held_up = upgraded(found, tenant, upgrade_wait=False)
    assert held_up.code == 0, held_up.output
    assert '"upgrade_state": "waiting"' in held_up.output
    assert f"Members are missing from the cluster: {away}." in held_up.output
    assert not any(each.commands.upgrades for each in found.machines.values())
    faults.mend(tenant.cluster.namespace, away)
    found.here.later(300)
    ended = upgraded(found, tenant, upgrade_wait=False)
    assert ended.code == 0, ended.output
    assert found.cluster.is_upgraded(TO)
    assert tenant.breaches == tenant.unready == []
    is_as_before(tenant)


ACTS = [
    ("PUT", SETTINGS, 1),
    ("PUT", SETTINGS, 2),
    # The third change of a Kubernetes node is the cordon of the first worker.
    ("PATCH", "/api/v1/nodes/", 3),
    ("POST", "/api/v1/namespaces/runs-1/pods/opensearch", 1),
    ("PUT", SETTINGS, 3),
    ("POST", "/orders/_flush", 2),
    ("PUT", SETTINGS, 4),
    ("PUT", SETTINGS, 5),
    ("POST", VOTES, 1),
    ("DELETE", VOTES, 1),
    ("DELETE", VOTES, 2),
]
"""Acts for the database, and those between them."""
OFTEN = {("PUT", SETTINGS, 2), ("POST", VOTES, 1), ("POST", "/api/v1/namespaces/runs-1/pods/opensearch", 1)}
"""Those that are not left to the long tests."""


@pytest.mark.parametrize(
    ("method", "path", "number"),
    [pytest.param(*each, marks=() if each in OFTEN else (pytest.mark.soak,)) for each in ACTS],
)
def test_a_run_that_is_killed_behind_an_act_goes_on(found: Machines, method: str, path: str, number: int) -> None:
    tenant = Tenant(found)
    with killing_behind(found, method, path, number), pytest.raises(Killed):
        upgraded(found, tenant)
    found.here.later(900)
    ended = upgraded(found, tenant)
    assert ended.code == 0, ended.output
    assert found.cluster.is_upgraded(TO)
    assert len(tenant.cordoned) >= 2
    assert tenant.unready == []
    assert tenant.breaches == []
    is_as_before(tenant)


@pytest.fixture
def executed() -> Iterator[Machines]:
    """The same, with the executor of ansible-core, which reads the system of a playbook that serves every upgrade."""
    with world() as here, machines(here, FROM, [TO], control_plane=1, workers=4) as made:
        yield made


def test_settling_puts_back_what_a_killed_run_has_left_in_the_database(executed: Machines) -> None:
    found, tenant = executed, Tenant(executed)
    with killing_behind(found, "PUT", SETTINGS, 2), pytest.raises(Killed):
        upgraded(found, tenant)
    assert tenant.changed_settings()[ENABLE] == "primaries"
    found.here.later(900)
    names = ("upgrade_namespace", "upgrade_kubernetes")
    given = {name: value for name, value in found.variables(TO).items() if name in names}
    settled = found.here.play(
        "stateful.upgrade.settle", {**given, "upgrade_system": PLAYBOOK, "upgrade_workloads": [tenant.workload()]}
    )
    assert settled.code == 0, settled.output
    assert "Everything is put back." in settled.output
    is_as_before(tenant)


def test_a_plan_says_at_once_what_will_never_let_a_machine_go(found: Machines) -> None:
    tenant = Tenant(found)
    tenant.cluster.ask("/bare", "PUT", {"settings": {"number_of_shards": 3, "number_of_replicas": 0}})
    refused = upgraded(found, tenant)
    assert refused.code != 0
    assert '"single_copy"' in refused.output
    title = f"OpenSearch in namespace {tenant.cluster.namespace}"
    assert f"{title}: The only configured copy of bare" in refused.output
    assert "accept with upgrade_workloads.allow_single_copy" in refused.output
    allowed = upgraded(found, tenant, upgrade_workloads=[tenant.workload(allow_single_copy=["bare"])])
    assert allowed.code == 0, allowed.output
    is_as_before(tenant)
    maps = found.here.sandbox.kubernetes.server.resources.store.each(CONFIG_MAPS, NAMESPACE)
    (record,) = [json.loads(each["data"][RECORD]) for each in maps if RECORD in (each.get("data") or {})]
    accepted = [each for each in record["events"] if each["kind"] == "risk_accepted"]
    assert {(each["about"], each["message"]) for each in accepted} == {
        ("allow_quorum_loss", ""),
        (f"upgrade_workloads.allow_single_copy of {title}", "bare"),
    }


@pytest.fixture
def wide() -> Iterator[Machines]:
    """A machine of the control plane and six workers, all of one zone, with local volumes."""
    with world() as here, machines(here, FROM, [TO], control_plane=1, workers=6) as made:
        for name in ("lab", LOCAL_CLASS):
            default = {"storageclass.kubernetes.io/is-default-class": json.dumps(name == LOCAL_CLASS)}
            here.storage_class(name, metadata={"name": name, "annotations": default})
        for name in made.cluster.described.workers:
            made.here.sandbox.kubernetes.server.resources.change(NODES, "", name, in_one_zone)
        yield made


def in_one_zone(node: Json) -> None:
    node["metadata"]["labels"]["topology.kubernetes.io/zone"] = "a"


def test_batches_of_several_machines_are_cut_by_the_copies_on_them(wide: Machines) -> None:
    tenant = Tenant(wide)
    workers = wide.cluster.described.workers
    # The second two would be a batch, if nothing was asked about the copies.
    assert {*workers[2:4]} <= {*tenant.places().values()}
    ended = upgraded(wide, tenant, upgrade_max_unavailable=2)
    assert ended.code == 0, ended.output
    assert wide.cluster.is_upgraded(TO)
    assert tenant.breaches == tenant.unready == []
    is_as_before(tenant)
    taken = re.findall(r"^ +\d+ +(worker-.*?)  ", ended.output, re.MULTILINE)
    assert taken == ["worker-1, worker-3", "worker-2, worker-4", "worker-5, worker-6"]


def test_a_plan_names_the_volumes_of_longhorn_that_never_let_a_machine_go(found: Machines) -> None:
    workers = found.cluster.described.workers
    volumes = (Volume("orders", workers[:1]), Volume("logs", workers[1:3]))
    there = Described(tuple(LonghornMachine(each) for each in workers), volumes)
    Longhorn(there, found.here.sandbox.kubernetes, QUICK)
    refused = found.upgraded(TO, upgrade_allow_quorum_loss=True, upgrade_workloads=[{"system": "longhorn"}])
    assert refused.code != 0
    assert "Nothing asks" not in refused.output
    unasked = found.upgraded(TO, upgrade_allow_quorum_loss=True)
    assert "Nothing asks Longhorn before their Kubernetes nodes are taken" in unasked.output
    assert "Longhorn: Volume orders has its only healthy replicas on worker-1." in refused.output
    assert "The drain of worker-1 never ends, because Longhorn keeps its instance manager there" in refused.output
    assert "never lets a pod go" not in refused.output
    assert "Volume logs" not in refused.output


def test_the_instance_managers_of_longhorn_leave_once_their_volumes_have_moved(found: Machines) -> None:
    """Longhorn deletes their budgets after the cordon: the drain waits for that, and the plan does not refuse it."""
    workers = found.cluster.described.workers
    volumes = (Volume("orders", workers[:2], attached=workers[0]), Volume("logs", workers[2:4]))
    there = Described(tuple(LonghornMachine(each) for each in workers), volumes)
    longhorn = Longhorn(there, found.here.sandbox.kubernetes, QUICK)
    before, places, drained = found.here.calling.after, [workers[0]], []

    def move(request: Request) -> None:
        """The pod of a workload leaves a machine that is cordoned, and its volume is attached on another one."""
        before(request)
        if request.method != "POST" or not request.path.endswith("/eviction"):
            return
        drained.append(request.path)
        closed = {each for each in workers if longhorn.get(NODES, each)["spec"].get("unschedulable")}
        if places[-1] in closed:
            places.append(next(each for each in workers if each not in closed))
            longhorn.detach("orders")
            longhorn.attach("orders", places[-1])

    found.here.calling.after = move
    try:
        ended = found.upgraded(TO, upgrade_allow_quorum_loss=True, upgrade_workloads=[{"system": "longhorn"}])
    finally:
        found.here.calling.after = before
    assert ended.code == 0, ended.output
    assert "never lets a pod go" not in ended.output
    assert found.cluster.is_upgraded(TO)
    assert len(places) > 1
    assert any("/instance-manager-" in each for each in drained)
    assert longhorn.volume("orders")["status"]["robustness"] == "healthy"


def test_a_database_that_does_not_answer_refuses_the_plan(found: Machines) -> None:
    tenant = Tenant(found)
    away = tenant.workload()
    away["opensearch"] = {**away["opensearch"], "hosts": ["http://10.9.9.9:9200"]}
    refused = upgraded(found, tenant, upgrade_workloads=[away])
    assert refused.code != 0
    assert '"opensearch_unreachable"' in refused.output
    assert PASSWORD not in refused.output


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        ({"namespace": "search"}, "upgrade_workloads[0] has no system."),
        ({"system": "opensearch", "hosts": ["http://x"]}, "upgrade_workloads[0].hosts is not an option"),
        ({"system": "opensearch", "namespace": "search"}, "all of the following are missing: opensearch"),
    ],
)
def test_a_workload_that_is_not_whole_is_refused_in_one_sentence(
    found: Machines, workload: dict[str, Any], said: str
) -> None:
    refused = found.upgraded(TO, upgrade_workloads=[workload])
    assert refused.code != 0
    assert said in refused.output
    assert not [path for _method, path in found.here.acts() if "/nodes/" in path]


def test_the_tasks_of_the_user_after_each_batch(found: Machines, tmp_path: Path) -> None:
    tenant = Tenant(found)
    tasks = tmp_path / "after.yml"
    tasks.write_text(
        '- ansible.builtin.fail: {msg: "{{ upgrade_moment }} {{ upgrade_batch.members[0] }}"}\n'
        "  when: upgrade_batch.members[0] != 'cp-1'\n"
    )
    failed = upgraded(found, tenant, upgrade_tasks_after_batch=str(tasks))
    assert failed.code != 0
    said = "A task of upgrade_tasks_after_batch has failed, so no further batch is begun: after_batch worker-"
    assert said in failed.output
    is_as_before(tenant)
    workers = [found.machines[name].kubelet.version for name in found.cluster.described.workers]
    assert sorted(workers) == [FROM, FROM, FROM, TO]
