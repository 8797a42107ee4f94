"""The packages or programs of a new version on a machine: fetched and proven, then installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from .kubeadm_answers import said_last, space_fault, version_in
from .kubeadm_settings import API_SERVER, LISTS, OF_CONTROL_PLANE, Kubeadm
from .kubeadm_trial import no_images
from .on_machine import Refused, StepFailed, TaskMachine, again, proven

LOCK_WAIT = 600
"""The seconds for which apt waits for the end of another installation, such as that of unattended-upgrades
(apt.conf(5), DPkg::Lock::Timeout)."""
HELD_NOTE = "/var/lib/stateful-upgrade/held-packages"
_TAKING_OUT = ("tar", "--extract", "--gzip", "--no-same-owner", "--transform", "s,.*/,,", "--no-anchored", "--file")
_STEP = "Install the packages of the new version"


def fetch(machine: TaskMachine, role: Kubeadm) -> dict[str, Any]:
    """Fetch and prove what is to be installed, while all is up.

    Raises:
        Refused: it cannot be installed there.
    """
    if not role.installer:
        raise Refused(
            f"The package manager {role.manager} is unknown here, so {role.node} was left alone. Give"
            " member_kubeadm_install_command, or member_kubeadm_url, and run again."
        )
    lacking = space_fault(role.machine, role.number("free"))
    if lacking:
        raise Refused(
            f"{role.node} has too little space, so it was left alone: {lacking} Make room there, or set"
            " member_kubeadm_free, and run again."
        )
    _name_repository(machine, role)
    {"apt": _prove_apt, "dnf": _prove_dnf, "url": _fetch_programs, "command": _see_command}[role.installer](
        machine, role
    )
    unknown = no_images(role, controls=role.installer == "command" or machine.exists(OF_CONTROL_PLANE, API_SERVER))
    if unknown and role.flag("pull"):
        machine.say(
            f"No images of version {role.version} were pulled on {role.node}, since {unknown}. Pull those that it"
            " needs, or see that its registry can be reached."
        )
    return {}


def _name_repository(machine: TaskMachine, role: Kubeadm) -> None:
    repository = role.text("repository")
    if not repository or role.installer not in LISTS:
        return
    of_apt = role.installer == "apt"
    machine.did(
        "Name the repository with the new version",
        "lineinfile",
        path=role.text("repository_file") or LISTS[role.installer],
        regexp="^deb " if of_apt else "^baseurl *=",
        line=repository if of_apt else f"baseurl={repository}",
        create=of_apt,
        mode="0644",
    )


def _prove_apt(machine: TaskMachine, role: Kubeadm) -> None:
    step = "Read the lists of the repositories"
    proven(step, again(lambda: machine.result("apt", update_cache=True, lock_timeout=LOCK_WAIT)))
    # A version that the repositories do not have is found before anything is changed.
    names, held_too = role.packages(*role.programs), {"allow_change_held_packages": True}
    machine.looked(
        "See that the packages can be installed", "apt", name=names, state="present", checks=True, **held_too
    )
    words = ["apt-get", "--quiet", "--yes", "--download-only", "--allow-change-held-packages"]
    _prove(machine, role, [*words, "--option", f"DPkg::Lock::Timeout={LOCK_WAIT}", "install", *names])


def _prove_dnf(machine: TaskMachine, role: Kubeadm) -> None:
    step = "See that the packages can be installed"
    proven(step, again(lambda: _dnf(machine, role, role.programs, checks=True, update_cache=True)))
    # The flag test of rpm ends the transaction before anything is stored, with the signatures proven.
    words = ["dnf", "--quiet", "--assumeyes", "--setopt=tsflags=test", role.excludes, "install"]
    _prove(machine, role, [*words, *role.packages(*role.programs)])


def _dnf(machine: TaskMachine, role: Kubeadm, programs: Sequence[str], **options: Any) -> dict[str, Any]:
    """dnf and dnf5 have a module each (`action/dnf.py` of ansible-core)."""
    names, excludes = role.packages(*programs), role.text("disable_excludes")
    module = "dnf5" if role.manager == "dnf5" else "dnf"
    return machine.result(module, name=names, state="present", disable_excludes=excludes, **options)


def _prove(machine: TaskMachine, role: Kubeadm, argv: Sequence[str]) -> None:
    """Fetch the packages, and prove them as their installation does."""
    result = again(lambda: machine.result("command", argv=[*argv]))
    if result.get("failed"):
        raise Refused(
            f"The packages of version {role.version} cannot be fetched and proven, so {role.node} was left alone:"
            f" {said_last(result)}. Correct their repository (member_kubeadm_repository), or make the key known that"
            " they are signed with, and run again."
        )


def _fetch_programs(machine: TaskMachine, role: Kubeadm) -> None:
    folder = "Make the folder for the new programs"
    machine.did(folder, "file", path=role.staging, state="directory", mode="0755")
    address = role.text("url")
    if not address.endswith((".tar.gz", ".tgz")):
        for each in role.programs:
            _got(machine, role, f"{address}/{each}", "0755")
        return
    archive = PurePosixPath(address).name
    _got(machine, role, address, "0644")
    try:
        step = "Take the new programs out of the archive, whatever their folder"
        machine.ran(step, [*_TAKING_OUT, archive, *role.programs], chdir=role.staging)
    except StepFailed as failure:
        raise Refused(
            f"{archive} does not give {', '.join(role.programs)}, so {role.node} was left alone:"
            f" {said_last(failure.result)}. Correct member_kubeadm_url, and run again."
        ) from failure


def _got(machine: TaskMachine, role: Kubeadm, address: str, mode: str) -> None:
    """Fetch a file, and prove it by its checksum."""
    name = PurePosixPath(address).name
    sums = role.given("member_kubeadm_checksums") or {}
    wanted: dict[str, Any] = {"checksum": str(sums.get(name) or f"sha256:{address}.sha256"), "mode": mode}
    place, step = f"{role.staging}/{name}", f"Fetch {name}, and prove it by its checksum"
    if proven(step, again(lambda: machine.result("get_url", url=address, dest=place, **wanted))).get("changed"):
        machine.changed(step)


def _see_command(machine: TaskMachine, role: Kubeadm) -> None:
    program = role.words("install_command")[0]
    if not machine.exists("See that the command of the installation is there", program):
        raise Refused(
            f"{role.node} has no file {program}, so it was left alone. Give member_kubeadm_install_command with the"
            " absolute path of a program there, and run again."
        )


def install(machine: TaskMachine, role: Kubeadm, programs: Sequence[str]) -> dict[str, Any]:
    """Install programs of the new version; says whether any has changed (`installed`)."""
    ways = {"apt": _install_apt, "dnf": _install_dnf, "url": _place, "command": _by_command}
    return {"installed": ways[role.installer](machine, role, programs)}


def _install_apt(machine: TaskMachine, role: Kubeadm, programs: Sequence[str]) -> bool:
    """Their installation may end the hold, so the packages that are held are noted before it."""
    argv = ["apt-mark", "showhold", *programs]
    held = machine.ran("See which packages are held", argv, checks=False)["stdout"].split()
    before = machine.answer("See which ones were held before", ["cat", HELD_NOTE], checks=False)
    to_hold = list(dict.fromkeys([*str(before.get("stdout") or "").split(), *held]))
    if to_hold:
        line = {"regexp": ".", "line": " ".join(to_hold), "create": True, "mode": "0644"}
        machine.looked("Note them", "lineinfile", path=HELD_NOTE, **line)
    names, limit = role.packages(*programs), {"lock_timeout": LOCK_WAIT}
    try:
        done = machine.did(_STEP, "apt", name=names, state="present", allow_change_held_packages=True, **limit)
    finally:
        held_again = [machine.result("dpkg_selections", name=each, selection="hold") for each in to_hold]
    for each in held_again:
        if proven("Hold the packages that were held", each).get("changed"):
            machine.changed("Hold the packages that were held")
    machine.looked("Remove the note", "file", path=HELD_NOTE, state="absent")
    return bool(done.get("changed"))


def _install_dnf(machine: TaskMachine, role: Kubeadm, programs: Sequence[str]) -> bool:
    done = proven(_STEP, _dnf(machine, role, programs))
    if done.get("changed"):
        machine.changed(_STEP)
    return bool(done.get("changed"))


def _place(machine: TaskMachine, role: Kubeadm, programs: Sequence[str]) -> bool:
    folder, how = role.text("folder"), {"remote_src": True, "mode": "0755"}
    step = "Place the programs of the new version"
    done = [
        machine.did(step, "copy", src=f"{role.staging}/{each}", dest=f"{folder}/{each}", **how) for each in programs
    ]
    return any(each.get("changed") for each in done)


def _by_command(machine: TaskMachine, role: Kubeadm, programs: Sequence[str]) -> bool:
    left = [each for each in programs if role.machine.get(each) != role.version]
    for each in left:
        step = "Install the programs of the new version by the given command"
        machine.ran(step, [*role.words("install_command"), each, role.version])
        machine.changed(step)
    return bool(left)


def prove_versions(machine: TaskMachine, role: Kubeadm, programs: Sequence[str]) -> dict[str, Any]:
    """See that each program has the new version.

    Raises:
        Refused: one has another version.
    """
    for each in () if machine.checks else programs:
        said = machine.answer("See the version of each program", role.questions[each])
        version = version_in(str(said.get("stdout") or ""))
        if version != role.version:
            raise Refused(
                f"{each} has the version {version or 'that it does not say'} on {role.node} after {role.version} was"
                " installed. Remove the other one from the path of the machine, and run again."
            )
    return {}
