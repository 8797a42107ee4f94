"""The member of etcd on a machine of the control plane: its snapshot, and the lead that it hands over."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..module_utils.common.waiting import pause
from .kubeadm_answers import lacking_majority, own_member_of, said_last, snapshot_of, successor_of
from .kubeadm_settings import ETCD, Kubeadm
from .on_machine import PAUSE, TRIES, Refused, StepFailed, TaskMachine

SUMS = 'head -c -32 "$1" | sha256sum; tail -c 32 "$1" | od -An -v -tx1'
KUBEADM_ETCD = "See whether etcd is one of kubeadm"
NAMES = "stateful-upgrade-*.db"


@dataclass(frozen=True)
class Etcd:
    """A client of etcd in its container, which has its certificates at the same path."""

    container: str
    certificates: str

    def inside(self, *words: str) -> list[str]:
        """A command in the container."""
        return ["crictl", "exec", self.container, *words]

    def client(self, *words: str) -> list[str]:
        """A command of etcdctl there."""
        keys = f"{self.certificates}/etcd"
        secured = [f"--cacert={keys}/ca.crt", f"--cert={keys}/server.crt", f"--key={keys}/server.key"]
        return self.inside("etcdctl", "--endpoints=https://127.0.0.1:2379", *secured, *words)


def found(machine: TaskMachine, role: Kubeadm) -> tuple[Etcd, dict[str, Any]]:
    """Its client, and the answer that names its container. An application may have an etcd of its own there."""
    label = "io.kubernetes.pod.namespace=kube-system"
    words = ["crictl", "ps", "--name", "^etcd$", "--label", label, "--state", "running", "--quiet"]
    said = machine.answer("Find the container of etcd", words, checks=False)
    return Etcd(str(said.get("stdout") or ""), role.text("certificates")), said


def save(machine: TaskMachine, role: Kubeadm) -> dict[str, Any]:
    """Take a snapshot on the machines of the batch that do, and prove it.

    Raises:
        Refused: there is none.
    """
    if not role.flag("snapshot") or role.node not in role.words("saves") or machine.checks:
        return {}
    if not machine.exists(KUBEADM_ETCD, ETCD):
        machine.say(
            f"No snapshot of etcd was taken, since {role.node} has no {ETCD}: its etcd is an external one."
            " Take one there."
        )
        return {}
    etcd, said = found(machine, role)
    if not etcd.container:
        raise Refused(
            f"No snapshot of etcd could be taken on {role.node}, so nothing was upgraded there: crictl finds no running"
            f" container of etcd ({said_last(said)}). Bring its member of etcd up, and run again."
        )
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time()))
    saved = _Saving(machine, role, etcd, f"stateful-upgrade-{role.version}-{stamp}.db").whole()
    _remove_oldest(machine, role)
    return saved


@dataclass(frozen=True)
class _Saving:
    """A snapshot under way."""

    machine: TaskMachine
    role: Kubeadm
    etcd: Etcd
    name: str

    @property
    def _folder(self) -> str:
        return self.role.text("snapshot_path")

    @property
    def _saved(self) -> str:
        return f"{self.role.text('etcd_data')}/{self.name}"

    @property
    def _kept(self) -> str:
        return f"{self._folder}/{self.name}"

    def whole(self) -> dict[str, Any]:
        """The snapshot, proven and in its folder.

        Raises:
            Refused: there is none, and nothing is left of it.
        """
        step = "Make the folder of the snapshots"
        self.machine.did(step, "file", path=self._folder, state="directory", mode="0700")
        try:
            self._remove_left()
            taken = self._taken()
            self._keep()
        except StepFailed as failure:
            for path in (self._saved, f"{self._saved}.part", f"{self._kept}.part"):
                self.machine.result("file", path=path, state="absent")
            raise Refused(
                f"No snapshot of etcd could be taken on {self.role.node} ({failure.name}), so nothing was upgraded"
                f" there: {said_last(failure.result)}. Correct that, or set member_kubeadm_snapshot to false if another"
                " backup is at hand, and run again."
            ) from failure
        self.machine.say(f"Snapshot of etcd on {self.role.node}: {taken['said']}.")
        return taken

    def _remove_left(self) -> None:
        """What a killed run has left."""
        data, parts = self.role.text("etcd_data"), f"{NAMES}.part"
        for folder, patterns in ((data, [NAMES, parts]), (self._folder, [parts])):
            step = "Find what a killed run has left"
            files = self.machine.looked(step, "find", paths=[folder], patterns=patterns, file_type="file")["files"]
            for each in files:
                self.machine.did("Remove it", "file", path=each["path"], state="absent")

    def _taken(self) -> dict[str, Any]:
        # The container can write to no other folder.
        self.machine.did("Take the snapshot", "command", argv=self.etcd.client("snapshot", "save", self._saved))
        words = ["snapshot", "status", self._saved, "-w", "json"]
        said = self.machine.answer("Read it", self.etcd.inside("etcdutl", *words))
        if said.get("rc", 1):
            # Images of etcd before 3.6 may have no etcdutl.
            said = self.machine.ran("Read it by etcdctl", self.etcd.inside("etcdctl", *words))
        # Its status says nothing about a file that was cut off.
        step = "Compute its checksum, and read the one that etcd has written at its end"
        sums = self.machine.ran(step, ["sh", "-c", SUMS, "sh", self._saved])["stdout"]
        seen = int((self.role.machine.get("etcd") or {}).get("revision") or 0)
        taken = snapshot_of(str(said["stdout"]), self._kept, seen, sums)
        if taken["fault"]:
            fault = f"The snapshot is not whole, since {taken['fault']}"
            raise StepFailed("Refuse a snapshot that is not whole", {"msg": fault})
        return taken

    def _keep(self) -> None:
        """Move it to its folder.

        kubeadm copies the whole folder of the data before it replaces etcd. A file that is cut off on its way to
        another file system has another name than a whole one, also after a power loss: without the two of sync, its
        name could be on the disk before its content.
        """
        do, part = self.machine.did, f"{self._kept}.part"
        do("Move it out of the data of etcd", "command", argv=["mv", self._saved, part])
        self.machine.ran("Have its content on the disk", ["sync", part])
        do("Keep it", "command", argv=["mv", part, self._kept])
        self.machine.ran("Have its name on the disk", ["sync", self._folder])


def _remove_oldest(machine: TaskMachine, role: Kubeadm) -> None:
    """Every file in the folder was proven before it was moved there, also the newest one. Another try removes what
    cannot be removed now."""
    folder = role.text("snapshot_path")
    there = machine.result("find", paths=[folder], patterns=[NAMES], file_type="file").get("files") or []
    kept = max(role.number("snapshots"), 1)
    for each in sorted(there, key=lambda file: float(file["mtime"]))[:-kept]:
        if machine.result("file", path=each["path"], state="absent").get("changed"):
            machine.changed("Remove the oldest of them")


def hand_over(machine: TaskMachine, role: Kubeadm) -> dict[str, Any]:
    """Let another member of etcd lead, and see that enough of them answer without this one.

    All is asked anew: what the look before the plan has not seen of etcd says nothing of it now.

    Raises:
        Refused: etcd would have no majority.
    """
    if machine.checks or not machine.exists(KUBEADM_ETCD, ETCD):
        return {}
    etcd, _said = found(machine, role)
    # Also those whose machines are gone, which Kubernetes does not show.
    step = "See the members that etcd counts"
    counted = machine.answer(step, etcd.client("member", "list", "-w", "json"))
    own = own_member_of(counted)
    asked = etcd.client("endpoint", "status", "--cluster", "-w", "json")
    said, lack = _answering(machine, asked, counted, own, guarded=role.flag("guards_etcd"))
    if lack:
        raise Refused(
            f"{lack} So nothing was upgraded on {role.node}. Bring the others back, or remove one whose machine is gone"
            " (etcdctl member remove), and run again."
        )
    successor = successor_of(str(said.get("stdout") or ""), own)
    if successor:
        # Otherwise the members elect another leader when this one stops, and until then the API server cannot write.
        step = "Let another member of etcd lead"
        moved = machine.answer(step, etcd.client("move-leader", successor))
        if moved.get("rc", 1):
            machine.say(
                f"The member of etcd on {role.node} could not hand its lead over: {said_last(moved)}."
                " The others elect a leader when it stops."
            )
        else:
            machine.changed(step)
    return {}


def _answering(
    machine: TaskMachine, asked: Sequence[str], counted: dict[str, Any], own: str, *, guarded: bool
) -> tuple[dict[str, Any], str]:
    """The answer of all members, and why they are too few; empty if that is not asked (`guarded`)."""
    for left in reversed(range(TRIES)):
        said = machine.answer("See which member of etcd leads, and that enough of them answer", asked)
        lack = lacking_majority(said, counted, own) if guarded else ""
        if not lack or not left:
            return said, lack
        pause(PAUSE)
    raise AssertionError("there is at least one try")
