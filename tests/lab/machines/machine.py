"""Machines: each with a root file system, a systemd, a host name and an SSH server of its own, on one kernel."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.machines import operating_system
from tests.lab.waiting import until

CONTROLLERS = "/sys/fs/cgroup/cgroup.controllers"
BOOT_ID, _UUID = "/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/random/uuid"
BOOT = 120.0
"""Seconds that it may take on a busy machine."""
_NAMESPACES = ("--pid", "--mount", "--uts", "--ipc")
_ALL_CONTROLLERS = "cpuset cpu io memory hugetlb pids"
_ENTER = """\
set -e
mount --make-rprivate /
mount -t cgroup2 cgroup2 "$2/root"
mkdir -p "$2/root/$5"
echo 0 > "$2/root/$5/cgroup.procs"
umount "$2/root"
exec unshare --cgroup sh -c "$6" init "$@"
"""
"""A control group of its own: systemd names those of its services alike on each machine, and where two share one, the
machine that ends a service removes the group that another has just made for it (the service fails with 219/CGROUP)."""
_LEAVE = """\
mount -t cgroup2 cgroup2 "$1" || exit
echo 1 > "$1/$2/cgroup.kill"
for each in $(seq 100); do
  find "$1/$2" -depth -type d -exec rmdir {} +
  test -e "$1/$2" || break
  sleep 0.05
done
"""
_INIT = """\
set -e
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
cd "$2/root"
mount --bind "$4" "$2/root/srv"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for each in null zero full random urandom tty; do
  touch dev/$each
  mount --bind /dev/$each dev/$each
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
hostname "$3"
pivot_root . mnt
export container=lab
exec chroot . sh -c 'umount --lazy /mnt && exec /lib/systemd/systemd --log-target=console --show-status=false'
"""


@dataclass
class Machine:
    """One machine; all that is written on it lies in `directory`. The folder `shared` is its /srv."""

    name: str
    directory: Path
    address: str
    shared: Path
    packages: Sequence[str] = ()
    """Those that it has in addition to all others."""
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Switch it on, and wait until it runs. Raises LabError."""
        base = operating_system.path(*self.packages)
        for part in ("upper", "work", "root"):
            (self.directory / part).mkdir(parents=True, exist_ok=True)
        command = ["unshare", *_NAMESPACES, "--fork", "--mount-proc", "--kill-child", "sh", "-c", _ENTER, "enter"]
        command += [str(base), str(self.directory), self.name, str(self.shared), self._control_group(), _INIT]
        with (self.directory / "console.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        try:
            until(f"The start of the machine {self.name}", self._runs, BOOT)
        except LabError as error:
            raise LabError(f"{error} {self.run('systemctl', 'list-units', '--failed', '--plain')}") from None
        # Control groups of version 2 lack the controllers that are of version 1 here, which kubeadm refuses.
        self.run(
            "sh", "-c", f"echo '{_ALL_CONTROLLERS}' > /run/controllers; mount --bind /run/controllers {CONTROLLERS}"
        )
        # The kernel, which it shares, does not start anew with it.
        self.run("sh", "-c", f"cat {_UUID} > /run/boot; mount --bind /run/boot {BOOT_ID}")

    def write(self, path: str, content: str, mode: int = 0o644) -> None:
        """Write a file before the machine is switched on; `path` starts at its root."""
        file = self.directory / "upper" / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        file.chmod(mode)

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link before the machine is switched on."""
        link = self.directory / "upper" / path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)

    def inside(self, *command: str) -> list[str]:
        """The command line that runs a command on the machine, as root and without SSH."""
        return ["nsenter", "--target", str(self._first()), *_NAMESPACES, "--cgroup", "--root", "--wd", "--", *command]

    def run(self, *command: str, given: str = "") -> str:
        """The output of a command there. Raises LabError if it fails."""
        done = subprocess.run(self.inside(*command), check=False, text=True, capture_output=True, input=given)
        if done.returncode:
            print(done.stdout, done.stderr, file=sys.stderr)
            raise LabError(f"{' '.join(command)} has failed on {self.name}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def boot(self) -> str:
        """What tells one start of it from others. Raises LabError."""
        return self.run("cat", BOOT_ID)

    def _first(self) -> int:
        """The process of its systemd as this machine sees it; 0 while there is none."""
        if self.process is None or self.process.poll() is not None:
            log = (self.directory / "console.log").read_text(encoding="utf-8", errors="replace")
            raise LabError(f"The machine {self.name} is off: {log[-500:]}")
        children = (
            Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="utf-8").split()
        )
        named = children and Path(f"/proc/{children[0]}/comm").read_text(encoding="utf-8").strip() == "systemd"
        return int(children[0]) if named else 0

    def _runs(self) -> bool:
        if not self._first():
            return False
        # As long as this file is there, only root may log in (pam_nologin).
        asked = subprocess.run(
            self.inside("sh", "-c", "test ! -e /run/nologin && systemctl is-system-running"),
            check=False,
            capture_output=True,
            text=True,
        )
        return asked.stdout.strip() in {"running", "degraded"}

    def stop(self) -> None:
        """Switch it off at once, as a power cut does; its files stay."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None
            leave = ["unshare", "--mount", "sh", "-c", _LEAVE, "leave", str(self.directory / "root")]
            subprocess.run([*leave, self._control_group()], check=False, capture_output=True)

    def _control_group(self) -> str:
        return str(self.directory).strip("/").replace("/", "-")

    def remove(self) -> None:
        """Switch it off for good."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
