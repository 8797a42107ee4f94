"""The role member_kubeadm on machines in memory, step by step as the playbook takes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.machines import ROLE, Machines, decided, host_of, machines
from tests.runs.world import world
from tests.sandbox.kubeadm.building import DEPLOYMENTS
from tests.sandbox.kubeadm.control_plane import FIRST_MEMBER
from tests.sandbox.kubeadm.description import COMPONENTS, DNS, ETCD, PROXY, image_of, images_of
from tests.sandbox.kubeadm.packages import APT, DNF
from tests.sandbox.kubernetes.objects import condition_of
from tests.sandbox.plain_hosts.jobs import over
from tests.sandbox.web import Request
from tests.scenarios.playbook import Played

FROM, TO = "1.35.4", "1.36.1"
FIRST, WORKER = "cp-1", "worker-1"


@pytest.fixture
def made() -> Iterator[Machines]:
    """A machine of the control plane, and a worker."""
    with world() as here, machines(here, FROM, [TO], control_plane=1, workers=1) as found:
        yield found


def take(made: Machines, name: str, *steps: str, check: bool = False, **variables: Any) -> Played:
    """Steps of the role on one machine, with the course that a batch would have decided."""
    include = {"name": ROLE, "tasks_from": "{{ upgrade_step }}"}
    loop = {"loop": ["look", *steps], "loop_control": {"loop_var": "upgrade_step"}}
    tasks: list[dict[str, Any]] = [{"ansible.builtin.include_role": include, **loop}]
    tasks.append({"ansible.builtin.debug": {"var": "member_machine"}})
    if "before_drain" in steps:
        tasks.append({"ansible.builtin.debug": {"var": "member_kubeadm_snapshot_taken"}})
    host = host_of(name, made.cluster.described)
    path = Path(made.folder) / "steps.yml"
    path.write_text(json.dumps([{"hosts": host, "gather_facts": False, "tasks": tasks}]), encoding="utf-8")
    first = made.cluster.described.control_plane[0]
    given = {"target_version": TO, **decided(name, first, TO), **variables}
    done = made.here.play(str(path), given, *made.arguments, *(["--check"] if check else []))
    print(done.output)
    return done


def test_a_machine_of_the_control_plane_and_a_worker_are_upgraded(made: Machines) -> None:
    for name in (FIRST, WORKER):
        machine = made.machines[name]
        done = take(made, name, "prepare", "before_drain", "after_drain")
        assert done.code == 0, done.output
        assert set(machine.packages.installed.values()) == {TO}
        assert machine.packages.held == {"kubeadm", "kubelet", "kubectl"}
        assert machine.kubelet.restarts == 1
        made.here.later(60.0)
        assert condition_of(made.cluster.node(name), "Ready")["status"] == "True"
    assert made.cluster.is_upgraded(TO)


def facts_in(done: Played) -> dict[str, Any]:
    """The fact member_machine that a run has shown."""
    found = re.search(r'"member_machine": (\{.*?\n    \})', done.output, re.DOTALL)
    assert found, done.output
    fact: dict[str, Any] = json.loads(found[1])
    return fact


def test_the_look_gives_the_facts_and_changes_nothing(made: Machines) -> None:
    done = take(made, FIRST)
    fact = facts_in(done)
    assert (fact["kubeadm"], fact["kubelet"], fact["kubectl"]) == (FROM, FROM, FROM)
    assert (fact["free"].keys(), fact["etcd"]["member"]) == ({"/", "/var/lib"}, str(FIRST_MEMBER))
    assert {"apiserver", "ca"} <= {each["name"] for each in fact["certificates"]}
    assert done.changed == {"h-cp-1": 0}
    of_worker = facts_in(take(made, WORKER))
    assert (of_worker["certificates"], of_worker["etcd"]) == ([], {})


def test_preparing_changes_nothing_that_runs_and_fetches_once(made: Machines) -> None:
    machine = made.machines[FIRST]
    before = dict(machine.packages.installed)
    done = take(made, FIRST, "prepare", member_kubeadm_repository="deb https://packages.test/v1.36/deb /")
    assert done.code == 0
    assert machine.packages.installed == before
    assert {name for name, _version in machine.packages.fetched} == set(before)
    assert machine.lines == {"/etc/apt/sources.list.d/kubernetes.list": "deb https://packages.test/v1.36/deb /"}
    assert set(images_of(TO)) <= machine.commands.images
    assert made.cluster.is_whole()
    again = take(made, FIRST, "prepare", member_kubeadm_repository="deb https://packages.test/v1.36/deb /")
    assert again.changed == {"h-cp-1": 0}
    # All that was fetched is installed without the repository.
    machine.packages.repository_away = True
    assert take(made, FIRST, "before_drain", "after_drain").code == 0


def test_a_worker_gets_the_images_that_may_run_there(made: Machines) -> None:
    commands = made.machines[WORKER].commands
    done = take(made, WORKER, "prepare")
    assert done.code == 0
    assert {image_of(each, TO) for each in (PROXY, DNS)} < commands.images
    assert not {image_of(each, TO) for each in COMPONENTS} & commands.images
    assert take(made, WORKER, "prepare").changed == {"worker-1": 0}


def test_a_machine_that_names_no_images_is_said_to_have_none_pulled(made: Machines) -> None:
    commands = made.machines[WORKER].commands
    before = set(commands.images)
    commands.fails["kubectl version"] = "command not found"
    done = take(made, WORKER, "prepare")
    assert "were pulled on worker-1, since it has no kubectl" in done.output.replace("\n", " ")
    assert (done.code, commands.images) == (0, before)
    assert "were pulled" not in take(made, WORKER, "prepare", member_kubeadm_pull=False).output


def test_a_network_that_fails_for_a_short_time_is_tried_again(made: Machines) -> None:
    machine = made.machines[WORKER]
    machine.packages.repository_away = True
    machine.commands.fails["crictl pull"] = "connection refused by the registry"

    def back() -> None:
        machine.packages.repository_away = False

    made.cluster.kubernetes.clock.later(8.0, back)
    made.cluster.kubernetes.clock.later(25.0, machine.commands.fails.clear)
    done = take(made, WORKER, "prepare")
    assert done.code == 0
    assert image_of(PROXY, TO) in machine.commands.images


def test_a_machine_that_cannot_be_prepared_is_left_alone(made: Machines) -> None:
    machine = made.machines[WORKER]
    machine.packages.repository_away = True
    said = take(made, WORKER, "prepare").message
    assert "cannot be fetched and proven, so worker-1 was left alone" in said
    assert "Could not connect to the repository. Correct their repository" in said
    machine.packages.repository_away = False
    machine.commands.free["/var/lib"] = 2**29
    said = take(made, WORKER, "prepare").message
    assert (
        "worker-1 has too little space, so it was left alone: /var/lib has 0.5 GiB free, and 2.0 GiB are needed."
        in said
    )
    machine.commands.free["/var/lib"] = 2**33
    made.machines[FIRST].commands.fails["crictl pull"] = "connection refused by the registry"
    assert "connection refused by the registry. Make them reachable" in take(made, FIRST, "prepare").message
    assert take(made, WORKER, "prepare").code == 0


def test_a_failure_of_kubeadm_is_one_sentence_and_the_next_run_goes_on(made: Machines) -> None:
    machine = made.machines[FIRST]
    machine.written.broken["kube-scheduler"] = "timed out waiting for the condition"
    said = take(made, FIRST, "before_drain").message
    assert f"kubeadm upgrade apply -y v{TO} has failed on cp-1 (Transient, tries: 4): error: error execution" in said
    assert "kube-scheduler: timed out waiting for the condition. Correct that, and run again" in said
    assert "stack trace" not in said
    machine.written.broken.clear()
    machine.commands.cut_off_after = 2
    assert "UNREACHABLE" in take(made, FIRST, "before_drain").output
    made.here.later(60.0)
    assert take(made, FIRST, "before_drain", "after_drain").code == 0
    assert made.cluster.version() == TO


def test_a_failure_that_may_pass_is_tried_again_within_its_budget(made: Machines) -> None:
    commands = made.machines[WORKER].commands
    commands.upgrade_fails = 'Get "https://api.test:6443/version": dial tcp 10.0.0.1:6443: connect: connection refused'
    refused = take(made, WORKER, "before_drain", member_kubeadm_retries={"unreachable": 1})
    assert "kubeadm upgrade node has failed on worker-1 (Unreachable, tries: 2): Get" in refused.message
    assert len(commands.upgrades) == 2
    made.cluster.kubernetes.clock.later(70.0, lambda: setattr(commands, "upgrade_fails", ""))
    done = take(made, WORKER, "before_drain")
    assert done.code == 0, done.output
    failures = len(commands.upgrades) - 3
    assert failures > 0
    assert f"has succeeded on worker-1 after {failures} failures that have passed" in done.output.replace("\n", " ")


def test_a_failure_that_stays_is_not_tried_again(made: Machines) -> None:
    commands = made.machines[WORKER].commands
    commands.upgrade_fails = "[preflight] Some fatal errors occurred:\n\t[ERROR SystemVerification]: no cgroup pids"
    refused = take(made, WORKER, "before_drain")
    assert "(Terminal, tries: 1)" in refused.message
    assert len(commands.upgrades) == 1


def test_a_step_that_hangs_ends_at_its_time(made: Machines) -> None:
    made.machines[WORKER].commands.hangs.add("kubeadm upgrade")
    done = take(made, WORKER, "before_drain", member_kubeadm_timeout=600)
    assert done.code == 2
    assert "kubeadm upgrade node has not ended well on worker-1: " in done.message
    assert "Timed out after 600 second(s). It may still run there." in done.message


@pytest.mark.parametrize(
    ("command", "step", "said"),
    [
        ("crictl pull", "prepare", "cannot be pulled, so cp-1 was left alone: Pull the others: "),
        ("apt-get --quiet --yes --download-only", "prepare", "cannot be fetched and proven, so cp-1 was left alone: "),
        ("crictl ps", "look", "Timed out after 120 second(s)"),
    ],
)
def test_whatever_hangs_on_a_machine_ends_at_its_time(made: Machines, command: str, step: str, said: str) -> None:
    made.machines[FIRST].commands.hangs.add(command)
    done = take(made, FIRST, step, member_kubeadm_timeout=600)
    assert done.code == 2
    assert said in done.message
    assert "Timed out after" in done.message


def test_no_machine_goes_without_which_etcd_has_no_majority(made: Machines) -> None:
    commands = made.machines[FIRST].commands
    guarded: dict[str, Any] = {"member_kubeadm_guards_etcd": True}
    refused = take(made, FIRST, "before_drain", **guarded)
    said = "Without this member 0 of 1 members of etcd answer, which is no majority. So nothing was upgraded on cp-1."
    assert said in refused.message
    assert commands.upgrades == []
    # The look before the plan has seen nothing of etcd, which answers by now.
    commands.fails["crictl ps"] = "the container runtime is busy"

    def answers(_request: Request) -> None:
        if any(each.startswith("crictl ps") for each in commands.ran):
            commands.fails.clear()

    commands.ran.clear()
    made.here.calling.after = answers
    refused = take(made, FIRST, "before_drain", **guarded)
    assert said in refused.message
    assert commands.upgrades == []


def test_the_etcd_of_an_application_is_not_taken_for_that_of_the_cluster(made: Machines) -> None:
    commands = made.machines[FIRST].commands
    commands.containers.append("fedcba987654")
    done = take(made, FIRST, "before_drain")
    assert done.code == 0, done.message
    assert len(commands.snapshots) == 1
    assert facts_in(done)["etcd"]["member"] == str(FIRST_MEMBER)


def test_a_second_time_changes_nothing_but_certificates(made: Machines) -> None:
    assert take(made, WORKER, "before_drain", "after_drain").code == 0
    again = take(made, WORKER, "before_drain", "after_drain")
    assert (again.code, again.changed) == (0, {"worker-1": 0})
    assert made.machines[WORKER].kubelet.restarts == 1


@pytest.mark.parametrize("linked", [False, True])
def test_a_kubelet_that_was_installed_and_not_restarted_is_restarted(made: Machines, *, linked: bool) -> None:
    machine = made.machines[WORKER]
    machine.kubelet.is_linked = linked
    assert take(made, WORKER, "before_drain").code == 0
    for name in ("kubelet", "kubectl"):
        machine.packages.install(name, TO, held_too=True)
    assert machine.kubelet.is_old
    assert take(made, WORKER, "after_drain").code == 0
    assert (machine.kubelet.restarts, machine.kubelet.version) == (1, TO)


@pytest.mark.parametrize("step", ["before_drain", "after_drain"])
def test_packages_that_were_held_before_a_kill_or_a_failure_are_held_again(made: Machines, step: str) -> None:
    machine = made.machines[WORKER]
    if step == "after_drain":
        assert take(made, WORKER, "before_drain").code == 0
    machine.packages.held.discard("kubectl")
    hold = machine.modules["dpkg_selections"]
    machine.modules["dpkg_selections"] = lambda _given: over({"failed": True, "msg": "The machine is cut off."})
    assert take(made, WORKER, step).code != 0
    assert machine.packages.held < {"kubeadm", "kubelet"}
    machine.modules["dpkg_selections"] = hold
    assert take(made, WORKER, "before_drain", "after_drain").code == 0
    assert (machine.packages.held, machine.lines) == ({"kubeadm", "kubelet"}, {})


def test_packages_stay_held_though_their_installation_fails(made: Machines) -> None:
    machine = made.machines[WORKER]

    def fails(_given: Any) -> Any:
        machine.packages.held.clear()
        return over({"failed": True, "msg": "dpkg: error processing package kubeadm"})

    machine.modules["apt"] = fails
    assert "dpkg: error" in take(made, WORKER, "before_drain").message
    assert machine.packages.held == {"kubeadm"}


def test_check_mode_changes_nothing(made: Machines) -> None:
    done = take(made, FIRST, "prepare", "before_drain", "after_drain", check=True)
    assert done.code == 0
    machine = made.machines[FIRST]
    assert (set(machine.packages.installed.values()), machine.kubelet.restarts) == ({FROM}, 0)
    assert not machine.packages.fetched
    assert not machine.commands.snapshots
    assert made.cluster.version() == FROM


def test_a_command_of_the_user_installs(made: Machines) -> None:
    machine = made.machines[WORKER]
    given: dict[str, Any] = {"member_kubeadm_install_command": ["/opt/install"]}
    assert "has no file /opt/install" in take(made, WORKER, "prepare", **given).message
    machine.commands.programs.add("/opt/install")
    done = take(made, WORKER, "prepare", "before_drain", "after_drain", **given)
    assert done.code == 0
    assert "were pulled on worker-1, since member_kubeadm_install_command" in done.output.replace("\n", " ")
    assert (set(machine.packages.installed.values()), machine.kubelet.version) == ({TO}, TO)


def test_packages_of_dnf_are_installed_though_they_are_excluded(made: Machines) -> None:
    for name in (FIRST, WORKER):
        packages = made.machines[name].packages
        packages.manager = DNF
        packages.repository_away = True
        assert "cannot be fetched and proven" in take(made, name, "prepare").message
        packages.repository_away = False
        done = take(
            made, name, "prepare", "before_drain", "after_drain", member_kubeadm_repository="https://rpm.test/v1.36/"
        )
        assert done.code == 0
        made.here.later(60.0)
        assert made.machines[name].lines == {"/etc/yum.repos.d/kubernetes.repo": "baseurl=https://rpm.test/v1.36/"}
    assert made.cluster.is_upgraded(TO)


@pytest.mark.parametrize("manager", [APT, DNF])
def test_a_machine_is_prepared_again_whose_kubeadm_an_earlier_run_has_installed(made: Machines, manager: str) -> None:
    """dnf gives no file of a package that is installed."""
    machine = made.machines[WORKER]
    machine.packages.manager = manager
    assert take(made, WORKER, "prepare", "before_drain").code == 0
    assert machine.packages.installed == {"kubeadm": TO, "kubelet": FROM, "kubectl": FROM}
    again = take(made, WORKER, "prepare", "before_drain", "after_drain")
    assert again.code == 0, again.message
    assert set(machine.packages.installed.values()) == {TO}


def test_single_programs_are_fetched_by_their_address(made: Machines) -> None:
    given: dict[str, Any] = {"member_kubeadm_url": f"https://programs.test/v{TO}"}
    for name in (FIRST, WORKER):
        done = take(made, name, "prepare", "before_drain", "after_drain", **given)
        assert done.code == 0
        assert set(made.machines[name].packages.installed.values()) == {TO}
        assert take(made, name, "prepare", "after_drain", **given).changed[host_of(name, made.cluster.described)] == 0


def test_programs_are_taken_out_of_an_archive(made: Machines) -> None:
    given: dict[str, Any] = {"member_kubeadm_url": f"https://programs.test/v{TO}/kubernetes-node-linux-amd64.tar.gz"}
    made.machines[WORKER].packages.not_in_archives = {"kubectl"}
    refused = take(made, WORKER, "prepare", **given)
    assert "kubernetes-node-linux-amd64.tar.gz does not give kubeadm, kubelet, kubectl, so worker-1 was left alone" in (
        refused.message
    )
    made.machines[WORKER].packages.not_in_archives = set()
    for name in (FIRST, WORKER):
        done = take(made, name, "prepare", "before_drain", "after_drain", **given)
        assert done.code == 0
        assert set(made.machines[name].packages.installed.values()) == {TO}
        assert take(made, name, "prepare", "after_drain", **given).changed[host_of(name, made.cluster.described)] == 0


def test_an_external_etcd_is_said_to_have_no_snapshot() -> None:
    with (
        world() as here,
        machines(here, FROM, [TO], control_plane=1, workers=0, external_etcd=True) as found,
    ):
        done = take(found, FIRST, "before_drain", "after_drain")
        assert "its etcd is an external one. Take one there." in done.output.replace("\n", " ")
        assert (done.code, found.machines[FIRST].commands.snapshots) == (0, {})
        here.later(60.0)
        assert found.cluster.is_upgraded(TO)


def test_an_older_coredns_is_refused_and_a_newer_etcd_stays(made: Machines) -> None:
    resources, images = made.cluster.kubernetes.server.resources, made.cluster.control_plane.images[FIRST]
    assert "etcd 3.6.5 → 3.6.6, CoreDNS 1.13.1 → 1.14.1." in take(made, FIRST, "prepare").output
    images[ETCD] = images[ETCD].replace("3.6.5", "3.6.9")

    def newer(item: Any) -> None:
        item["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.test/coredns/coredns:v1.15.0"

    resources.change(DEPLOYMENTS, "kube-system", DNS, newer)
    refused = take(made, FIRST, "prepare", member_kubeadm_pull=False)
    assert "etcd stays at 3.6.9, since kubeadm brings 3.6.6" in refused.output
    assert "take CoreDNS back to an older version, so cp-1 was left alone: CoreDNS 1.15.0 → 1.14.1." in refused.message
    assert take(made, WORKER, "prepare").code == 0, "it runs on the control plane alone"


def test_the_image_that_cannot_be_pulled_is_named(made: Machines) -> None:
    """The images behind it in the list are pulled all the same."""
    image = image_of("kube-scheduler", TO)
    made.machines[FIRST].commands.fails[f"crictl pull {image}"] = f'pulling image: "{image}": not found'
    refused = take(made, FIRST, "prepare")
    assert refused.code != 0
    assert f'"{image}": not found' in refused.message
