"""The commands of a machine of kubeadm: those that the role member_kubeadm runs, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tests.sandbox.kubeadm.agent import AGENT, BOOT, Agent
from tests.sandbox.kubeadm.building import CONFIGURATION, DEPLOYMENTS, SYSTEM
from tests.sandbox.kubeadm.description import DNS, ETCD, PACKAGES, images_of, needed_images
from tests.sandbox.kubeadm.packages import Packages, named, waits
from tests.sandbox.kubeadm.planning import compare_manifests, plan_upgrade
from tests.sandbox.kubeadm.process import Ended, Steps, after, never
from tests.sandbox.kubeadm.upgrading import LOOK, OnMachine, Shared, try_upgrade, upgrade
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.sandbox.kubernetes.objects import timestamp
from tests.sandbox.plain_hosts.jobs import UnknownModule

if TYPE_CHECKING:
    from tests.sandbox.kubeadm.machine import Machine

FREE = 20 * 2**30
CONTAINER = "0123456789ab"
"""The id of the container of etcd."""
YEAR = 365 * 86400.0
ARCHIVES = "/var/cache/apt/archives"
Command = Callable[[Sequence[str], str], Steps]


class Commands:
    """`fails` and `hangs` are by the beginning of the command, such as `kubeadm upgrade`."""

    def __init__(self, shared: Shared, written: OnMachine, packages: Packages) -> None:
        self._shared, self._written, self._packages = shared, written, packages
        self.fails: dict[str, str] = {}
        """Each with what it writes to its standard error; nothing is done."""
        self.upgrade_fails = ""
        """What the upgrade by kubeadm writes to its standard error, if it fails though its dry run passes."""
        self.plans_json = True
        """Whether the plan of kubeadm knows `-o json`, as since 1.25."""
        self.configurations: dict[str, str] = {}
        """The configurations that its plan wants to be converted by hand, by their groups with the present versions."""
        self.hangs: set[str] = set()
        self.cut_off_after: int | None = None
        """The machine cuts off its connections when kubeadm has started to replace so many components."""
        self.ran: list[str] = []
        """The commands that were run, by their words."""
        self.snapshots: dict[str, dict[str, int]] = {}
        """By path."""
        self.snapshots_broken = False
        """Whether a snapshot of etcd is of an older revision than etcd."""
        self.on_disk: set[str] = set()
        """The files and folders whose content is on the disk, so that a power loss keeps it."""
        self.disk_full = False
        """Whether a file that is moved to another folder, which is on another disk, is cut off there."""
        self.snapshots_cut = False
        """Whether a snapshot of etcd has another content than etcd has sent, which its status does not show."""
        self.containers: list[str] = []
        """The ids of further containers with the name etcd, in pods of other namespaces than kube-system."""
        self._is_locked = False
        self.has_file = False
        """Whether the last command that fetched a package without its installation has left its file."""
        self.programs: set[str] = set()
        """The paths of programs of a user that install what they are given: its name and its version."""
        self.free = {"/": FREE, "/var/lib": FREE}
        """The bytes that are free, by folder."""
        controls = written.name in shared.control_plane.images
        self.images = set(needed_images(written.kubelet_configuration, controls=controls))
        """Those that are on the machine."""

    @property
    def upgrades(self) -> list[str]:
        """The upgrades by kubeadm among the commands that were run, without its dry runs."""
        started = [each for each in self.ran if each.startswith(("kubeadm upgrade apply ", "kubeadm upgrade node"))]
        return [each for each in started if "--dry-run" not in each]

    def steps(self, argv: Sequence[str], stdin: str, machine: Machine) -> Steps:
        """The command, by its words. Raises UnknownModule."""
        if argv[0] == "flock":
            place = next(number for number, each in enumerate(argv) if each.startswith("/"))
            return self._alone(argv[place + 1 :], stdin, machine)
        folder = ""
        if argv[0] == "env":
            folder, argv = argv[1].removeprefix("KUBEADM_UPGRADE_DRYRUN_DIR="), argv[2:]
        name = argv[0].rpartition("/")[2]
        line = " ".join((name, *argv[1:]))
        self.ran.append(line)
        if any(line.startswith(each) for each in self.hangs):
            return never()
        for beginning, said in self.fails.items():
            if line.startswith(beginning):
                return after(self._shared.pace.look, Ended(1, "", said))
        if line.startswith("kubeadm upgrade "):
            if argv[2] in ("plan", "diff"):
                return self._planned(argv)
            return self._tried(argv, folder) if "--dry-run" in argv else self._upgrade(argv, machine)
        known: dict[str, Command] = {
            "kubeadm": self._kubeadm,
            "kubelet": lambda _argv, _stdin: self._told(f"Kubernetes v{self._packages.installed['kubelet']}"),
            # The program that the process of the kubelet runs, by its link below /proc.
            "exe": lambda _argv, _stdin: self._told(f"Kubernetes v{machine.kubelet.version}"),
            "kubectl": self._kubectl,
            "crictl": self._crictl,
            "apt-get": self._fetches,
            "dnf": self._fetches,
            "rpm": lambda _argv, _stdin: self._told(""),
            "apt-mark": lambda argv, _stdin: self._told(
                "\n".join(each for each in argv[2:] if each in self._packages.held)
            ),
            "dpkg-deb": lambda _argv, _stdin: self._told(""),
            "tar": lambda argv, _stdin: self._took_out(argv, machine),
            "df": lambda _argv, _stdin: self._told("\n".join(["Avail", *map(str, self.free.values())])),
            "sh": lambda argv, _stdin: self._summed(argv[-1]),
            "mv": lambda argv, _stdin: self._moved(*argv[-2:]),
            "sync": lambda argv, _stdin: self._synced(argv[-1]),
            "cat": lambda argv, _stdin: self._read(machine, argv[-1]),
            "tee": lambda argv, stdin: self._kept(machine.agent, argv[-1], stdin),
            AGENT: lambda argv, stdin: machine.agent.steps(argv, stdin, machine),
        }
        if argv[0] in self.programs:
            self._packages.installed[argv[-2]] = argv[-1]
            return after(self._shared.pace.package, Ended())
        if name not in known:
            raise UnknownModule(f"command {argv}")
        return known[name](argv, stdin)

    def _alone(self, argv: Sequence[str], stdin: str, machine: Machine) -> Steps:
        """A command that waits for the end of another one. A process that is killed gives its lock back."""
        while self._is_locked:
            yield self._shared.pace.look
        self._is_locked = True
        try:
            ended: Ended = yield from self.steps(argv, stdin, machine)
        finally:
            self._is_locked = False
        return ended

    def _summed(self, path: str) -> Steps:
        """The checksum of a snapshot, and the one at its end."""
        written = sha256(json.dumps(self.snapshots[path]).encode()).hexdigest()
        found = sha256(b"cut off").hexdigest() if self.snapshots_cut else written
        bytes_of = (written[place : place + 2] for place in range(0, len(written), 2))
        return self._told(f"{found}  -\n {' '.join(bytes_of)}")

    def _took_out(self, argv: Sequence[str], machine: Machine) -> Steps:
        """Programs out of an archive: its name, and theirs, are the last words."""
        place = argv.index("--file") + 1
        fault = machine.took_out(argv[place], argv[place + 1 :])
        return after(self._shared.pace.look, Ended(2, "", fault) if fault else Ended())

    def _told(self, text: str) -> Steps:
        return after(self._shared.pace.look, Ended(0, text))

    def _read(self, machine: Machine, path: str) -> Steps:
        agent = machine.agent
        found = str(agent.boots) if path == BOOT else agent.files.get(path, machine.lines.get(path))
        missing = Ended(1, "", f"cat: {path}: No such file or directory")
        return after(self._shared.pace.look, missing if found is None else Ended(0, found))

    def _kept(self, agent: Agent, path: str, content: str) -> Steps:
        agent.files[path] = content
        return self._told(content)

    def _moved(self, source: str, target: str) -> Steps:
        if self.disk_full and source.rpartition("/")[0] != target.rpartition("/")[0]:
            self.snapshots[target] = {**self.snapshots[source], "totalSize": 1}
            return after(self._shared.pace.look, Ended(1, "", f"mv: error writing '{target}': No space left on device"))
        self.snapshots[target] = self.snapshots.pop(source)
        folder = target.rpartition("/")[0]
        stays = {target} if source in self.on_disk and source.rpartition("/")[0] == folder else set()
        self.on_disk = self.on_disk - {source, target, folder} | stays
        return self._told("")

    def _synced(self, path: str) -> Steps:
        self.on_disk.add(path)
        return self._told("")

    def _tried(self, argv: Sequence[str], folder: str) -> Steps:
        """A dry run."""
        return try_upgrade(self._shared, self._written, self._own(argv), _target(argv), _ignored(argv), folder)

    def _own(self, argv: Sequence[str]) -> str:
        """The version of the program that was fetched, or of the installed one."""
        staged = next((each for each in argv[0].split("/") if each[:2] == "1."), "")
        return staged or self._packages.installed["kubeadm"]

    def _planned(self, argv: Sequence[str]) -> Steps:
        target = argv[3].removeprefix("v")
        if argv[2] == "diff":
            return compare_manifests(self._shared, self._written, target)
        if not self.plans_json:
            said = "error: unknown shorthand flag: 'o' in -o\nTo see the stack trace of this error execute with --v=5"
            return after(self._shared.pace.look, Ended(1, "", said))
        return plan_upgrade(self._shared, self._written, self._own(argv), target, _ignored(argv), self.configurations)

    def _upgrade(self, argv: Sequence[str], machine: Machine) -> Steps:
        said = self.upgrade_fails
        if said:
            yield self._shared.pace.preflight
            return Ended(1, "", said)
        own = self._packages.installed["kubeadm"]
        steps = upgrade(self._shared, self._written, own, _target(argv), _ignored(argv))
        before = len(self._written.upgraded)
        while True:
            try:
                seconds = next(steps)
            except StopIteration as end:
                ended: Ended = end.value
                return ended
            cut = self.cut_off_after
            if cut is not None and len(self._written.upgraded) - before >= cut:
                self.cut_off_after = None
                self._shared.clock.later(LOOK / 2, machine.cut_off)
            yield seconds

    def _kubeadm(self, argv: Sequence[str], stdin: str) -> Steps:
        words = list(argv[1:3])
        if words[:1] == ["version"]:
            return self._told(f"v{self._packages.installed['kubeadm']}")
        if words == ["certs", "check-expiration"]:
            return self._told(json.dumps(self._certificates()))
        if words == ["config", "images"]:
            lines = stdin.splitlines()
            version = next(each.partition(": v")[2] for each in lines if each.startswith("kubernetesVersion: v"))
            return self._told("\n".join(images_of(version)))
        raise UnknownModule(f"command {argv}")

    def _certificates(self) -> dict[str, Any]:
        def one(name: str, until: float) -> dict[str, Any]:
            seconds = int(until - self._shared.clock.now())
            return {"name": name, "expirationDate": timestamp(until), "residualTime": seconds, "missing": False}

        names = ("admin.conf", "apiserver", "etcd-server", "scheduler.conf")
        own = [one(each, self._written.renewed + YEAR) for each in names]
        return {"certificates": own, "certificateAuthorities": [one("ca", self._written.renewed + 10 * YEAR)]}

    def _kubectl(self, argv: Sequence[str], _stdin: str) -> Steps:
        if "version" in argv:
            told = {"clientVersion": {"gitVersion": f"v{self._packages.installed['kubectl']}"}}
            return self._told(json.dumps(told))
        if CONFIGURATION in argv or "deployment" in argv:
            controls = self._written.name in self._shared.control_plane.images
            own = {
                f"--kubeconfig=/etc/kubernetes/{each}.conf" for each in ("kubelet", *(["admin"] if controls else []))
            }
            if not own & set(argv):
                return after(self._shared.pace.look, Ended(1, "", f"error: stat {argv[1]}: no such file or directory"))
            if not self._shared.control_plane.answers:
                return after(self._shared.pace.look, Ended(1, "", "The connection to the server was refused"))
            resources = self._shared.kubernetes.server.resources
            if "deployment" in argv:
                item = resources.get(DEPLOYMENTS, SYSTEM, DNS)
                return self._told(str(item["spec"]["template"]["spec"]["containers"][0]["image"]))
            found = resources.get(CONFIG_MAPS, SYSTEM, CONFIGURATION)
            return self._told(str(found["data"]["ClusterConfiguration"]))
        raise UnknownModule(f"command {argv}")

    def _fetches(self, argv: Sequence[str], _stdin: str) -> Steps:
        """A command of apt or dnf that installs nothing."""
        if not {"--download-only", "download", "--downloadonly", "--setopt=tsflags=test"} & set(argv):
            raise UnknownModule(f"command {argv}")
        wanted = [named(each) for each in argv if each.startswith(PACKAGES)]
        if "--downloadonly" in argv:
            # As dnf says of packages that are installed: nothing to do.
            wanted = [(name, version) for name, version in wanted if self._packages.installed[name] != version]
        self.has_file = bool(wanted)
        faults = [self._packages.fetch(name, version) for name, version in wanted]
        limit = next((float(each.partition("=")[2]) for each in argv if each.startswith("DPkg::Lock::Timeout=")), 0.0)
        seconds, held = waits(self._packages.locked_until - self._shared.clock.now(), limit)
        said = held or next(filter(None, faults), "")
        return after(seconds + self._shared.pace.fetch, Ended(100 if said else 0, "", said))

    def _crictl(self, argv: Sequence[str], _stdin: str) -> Steps:
        if argv[1] == "ps":
            name, plane = self._written.name, self._shared.control_plane
            runs = ETCD in plane.images.get(name, ()) and (name, ETCD) not in plane.away
            own = [CONTAINER] if runs else []
            others = [] if "io.kubernetes.pod.namespace=kube-system" in argv else self.containers
            return self._told("\n".join([*others, *own]))
        if argv[1] == "images":
            return self._told(json.dumps({"images": [{"repoTags": [each]} for each in sorted(self.images)]}))
        if argv[1] == "pull":
            self.images.add(argv[-1])
            return after(self._shared.pace.fetch, Ended(0, f"Image is up to date for {argv[-1]}"))
        if argv[1] == "exec" and argv[2] == CONTAINER:
            return self._in_etcd(argv[3:])
        raise UnknownModule(f"command {argv}")

    def _status(self, name: str, revision: int) -> dict[str, Any]:
        plane = self._shared.control_plane
        header = {"cluster_id": 1, "member_id": plane.member(name), "revision": revision, "raft_term": 3}
        version = plane.images[name][ETCD].rpartition(":")[2].partition("-")[0]
        status = {"header": header, "version": version, "dbSize": plane.size, "leader": plane.member(plane.leader)}
        return {"Endpoint": f"https://{name}:2379", "Status": {**status, "raftIndex": revision}}

    def _in_etcd(self, argv: Sequence[str]) -> Steps:
        words, plane = " ".join(argv), self._shared.control_plane
        if not plane.has_quorum:
            return after(self._shared.pace.look, Ended(1, "", "context deadline exceeded"))
        revision, size = self._shared.kubernetes.server.store.version, plane.size
        if "endpoint status" in words:
            asked = plane.voters if "--cluster" in argv else [self._written.name]
            return self._told(json.dumps([self._status(each, revision) for each in asked]))
        if "member list" in words:
            return self._told(
                json.dumps({"header": {"member_id": plane.member(self._written.name)}, "members": plane.counted})
            )
        if "move-leader" in argv:
            moved = plane.hand_over(self._written.name, int(argv[-1], 16))
            return after(
                self._shared.pace.look, Ended(0 if moved else 1, "", "" if moved else "Error: no leader endpoint")
            )
        if "snapshot save" in words:
            old = {"revision": 1, "totalSize": 0} if self.snapshots_broken else {}
            self.snapshots[argv[-1]] = {
                "hash": revision * 7,
                "revision": revision,
                "totalKey": 10,
                "totalSize": size,
                **old,
            }
            return after(self._shared.pace.snapshot, Ended(0, f"Snapshot saved at {argv[-1]}"))
        if "snapshot status" in words:
            path = next(each for each in argv if each in self.snapshots)
            return self._told(json.dumps(self.snapshots[path]))
        raise UnknownModule(f"command {list(argv)}")


def _target(argv: Sequence[str]) -> str:
    return next((each.removeprefix("v") for each in argv if each[:2] == "v1"), "") if "apply" in argv else ""


def _ignored(argv: Sequence[str]) -> set[str]:
    given = [each.partition("=")[2] for each in argv if each.startswith("--ignore-preflight-errors=")]
    return {name for each in given for name in each.split(",")}
