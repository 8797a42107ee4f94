"""The steps of the role member_kubeadm on a machine: each a state of the part `kubeadm` of the module upgrade_part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .kubeadm_answers import differing, machine_of, said_last, version_in
from .kubeadm_etcd import found, hand_over, save
from .kubeadm_failures import failure_class
from .kubeadm_packages import fetch, install, prove_versions
from .kubeadm_settings import API_SERVER, MANIFESTS, OF_CONTROL_PLANE, Kubeadm
from .kubeadm_trial import patiently, try_upgrade
from .on_machine import Refused, StepFailed, TaskMachine, ended

Result = dict[str, Any]
Step = Callable[[TaskMachine, Kubeadm], Result]


def ask(machine: TaskMachine, role: Kubeadm) -> Result:
    """See what is installed, and the free space. That needs no rights."""
    step = "See what is installed, and the free space"
    asked = role.questions.items()
    return {"results": [{**machine.answer(step, argv), "item": {"key": name}} for name, argv in asked]}


def see(machine: TaskMachine, role: Kubeadm) -> Result:
    """See the certificates and the member of etcd; gives the fact `member_machine` (`machine`)."""
    nothing: Result = {}
    certificates, status, counted = nothing, nothing, nothing
    if machine.exists(OF_CONTROL_PLANE, API_SERVER):
        argv = [f"{role.home}kubeadm", "certs", "check-expiration", "-o", "json"]
        certificates = machine.answer("See until when its certificates are valid", argv)
        etcd, _said = found(machine, role)
        if etcd.container:
            asked = etcd.client("endpoint", "status", "-w", "json")
            status = machine.answer("See the member of etcd", asked)
            asked = etcd.client("member", "list", "-w", "json")
            counted = machine.answer("See the members that etcd counts", asked)
    seen = role.given("member_kubeadm_seen")["results"]
    return {"machine": machine_of(seen, certificates, status, counted, role.number("free"))}


def upgrade(machine: TaskMachine, role: Kubeadm) -> Result:
    """Upgrade by kubeadm. Run again after an interruption, it continues: what is upgraded already stays.

    The kubeadm of a killed run may still be at work, and is waited for.

    Raises:
        Refused: it has failed, or does not end.
    """
    before = _written(machine, role)
    words = " ".join(["kubeadm upgrade", *role.step])
    argv = [*role.alone, f"{role.home}kubeadm", "upgrade", *role.step, *role.words("arguments")]
    try:
        ended = patiently(machine, role, "Upgrade by kubeadm", argv)
    except StepFailed as failure:
        raise Refused(
            f"{words} has not ended well on {role.node}: {said_last(failure.result)}. It may still run there. See what"
            " it waits for, end it or set member_kubeadm_timeout, and run again: the run continues at this machine."
        ) from failure
    tries = ended["attempts"]
    if ended.get("rc", 0):
        raise Refused(
            f"{words} has failed on {role.node} ({failure_class(ended)}, tries: {tries}): {said_last(ended)}. Correct"
            " that, and run again: the run continues at this machine, and kubeadm keeps what it has upgraded."
        )
    if tries > 1:
        machine.say(f"{words} has succeeded on {role.node} after {tries - 1} failures that have passed.")
    if differing(before, _written(machine, role)):
        machine.changed("Upgrade by kubeadm")
    return {}


def _written(machine: TaskMachine, role: Kubeadm) -> list[Mapping[str, Any]]:
    """The files that kubeadm writes; those below these folders are backups."""
    paths = ["/etc/kubernetes", MANIFESTS, role.text("certificates"), "/var/lib/kubelet"]
    patterns = ["*.yaml", "*.conf", "*.crt", "kubeadm-flags.env"]
    step = "See what kubeadm has written"
    files: list[Mapping[str, Any]] = machine.looked(step, "find", paths=paths, patterns=patterns, get_checksum=True)[
        "files"
    ]
    return files


def restart(machine: TaskMachine, role: Kubeadm) -> Result:
    """Restart the kubelet if its program or its files have changed, or if its process runs the old program.

    That is so if a run has ended between installation and restart. The old program is deleted, unless programs are
    links.
    """
    status = machine.looked("See the process of the kubelet", "systemd", name="kubelet").get("status") or {}
    # The program that the process runs, also if the file was replaced.
    path = f"/proc/{status.get('MainPID') or 0}/exe"
    step = "See the program of that process"
    program = machine.looked(step, "stat", path=path, get_checksum=False)["stat"].get("lnk_target") or ""
    said = machine.answer("See its version", [path, "--version"], checks=False)
    is_old = "(deleted)" in program or version_in(str(said.get("stdout") or "")) != role.version
    installed = (role.given("member_kubeadm_changed") or {}).get("installed")
    if is_old or installed or (role.given("member_kubeadm_after") or {}).get("changed"):
        machine.did("Restart the kubelet", "systemd", name="kubelet", state="restarted", daemon_reload=True)
    return {}


STEPS: Mapping[str, Step] = {
    "asked": ask,
    "fetched": fetch,
    "handed_over": hand_over,
    "restarted": restart,
    "saved": save,
    "seen": see,
    "tried": try_upgrade,
    "upgraded": upgrade,
}
OF_PROGRAMS = {"installed": install, "proven": prove_versions}


def carried_out(machine: TaskMachine, role: Kubeadm, state: str, programs: list[str]) -> Result:
    """The result of a step; without `programs` those are taken that are upgraded after the drain."""

    def work() -> Result:
        if state in OF_PROGRAMS:
            return OF_PROGRAMS[state](machine, role, programs or role.tools)
        return STEPS[state](machine, role)

    return ended(machine, work)
