"""A real systemd, first of a process namespace of its own, that knows the units of one folder and no others.

Nothing of the machine's own systemd, if it has one, is touched. If packages are installed there, dpkg and apt see
copies of their state, which end with the namespace.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab.waiting import until

BOOT = 120.0
"""Seconds that it may take on a busy machine."""
UNITS = Path("/run/lab-units")
"""The folder of its units, which only it sees."""
NAMESPACES = ("--pid", "--mount", "--uts", "--ipc", "--cgroup")
COPIED = ("/etc/apt", "/var/lib/dpkg", "/var/lib/apt", "/var/cache/apt", "/var/log")
INIT = f"""\
set -e
mount --make-rprivate /
for folder in {" ".join(COPIED)}; do
  [ -d $folder ] || continue
  mkdir -p "$1$folder"
  case $folder in /etc/*|*/dpkg) cp -a $folder/. "$1$folder";; esac
  mount --bind "$1$folder" $folder
done
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*
mkdir -p /var/lib/apt/lists/partial /var/cache/apt/archives/partial /var/log/apt
mount -t tmpfs tmpfs /run
mkdir -p /run/lock {UNITS}
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
printf '[Unit]\\nDefaultDependencies=no\\n' > {UNITS}/lab.target
export container=lab SYSTEMD_UNIT_PATH={UNITS}
exec systemd --system --unit=lab.target --log-target=console
"""


@dataclass(frozen=True)
class OwnSystemd:
    """One systemd; `leader` is its process as this machine sees it."""

    leader: int

    def inside(self, *command: str) -> list[str]:
        """The command line that runs a command where systemd is."""
        return ["nsenter", "--target", str(self.leader), *NAMESPACES, "--", *command]

    def run(self, *command: str) -> str:
        """The output of a command in that systemd."""
        done = subprocess.run(self.inside(*command), check=True, text=True, stdout=subprocess.PIPE)
        return done.stdout


def why_not() -> str:
    """The reason why this machine can have none; empty if it can."""
    missing = [name for name in ("systemd", "systemctl", "unshare", "nsenter") if shutil.which(name) is None]
    if missing:
        return f"a real systemd needs {', '.join(missing)}"
    tried = [
        "unshare",
        *NAMESPACES,
        "--fork",
        "sh",
        "-c",
        "umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup",
    ]
    if subprocess.run(tried, check=False, capture_output=True).returncode:
        return "a real systemd needs root, and namespaces with control groups of version 2"
    return ""


@contextmanager
def own_systemd(directory: Path) -> Iterator[OwnSystemd]:
    """A systemd for the length of the block; its log, and the copies, lie in `directory`."""
    command = [
        "unshare",
        *NAMESPACES,
        "--fork",
        "--mount-proc",
        "--kill-child",
        "sh",
        "-c",
        INIT,
        "init",
        str(directory),
    ]
    with (directory / "systemd.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")

    def up() -> OwnSystemd | None:
        if process.poll() is not None:
            raise RuntimeError((directory / "systemd.log").read_text(encoding="utf-8"))
        leader = children.read_text(encoding="utf-8").split()
        if not leader or Path(f"/proc/{leader[0]}/comm").read_text(encoding="utf-8").strip() != "systemd":
            return None
        found = OwnSystemd(int(leader[0]))
        asked = subprocess.run(
            found.inside("systemctl", "is-system-running"), check=False, capture_output=True, text=True
        )
        return found if asked.stdout.strip() == "running" else None

    try:
        yield until("systemd to run", up, BOOT)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
