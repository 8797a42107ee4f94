"""The root file system of a small Debian, made once per machine by debootstrap and kept in the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.lab.cache import cache_root, exclusive
from tests.lab.errors import LabError

SUITE = "bookworm"
PACKAGES = ("dbus", "openssh-server", "python3", "python3-apt", "python3-yaml", "sudo", "systemd", "systemd-sysv")
USER = "ansible"
"""The user of Ansible on each machine, who may become root without a password."""
_NEEDED = ("apt-get", "dpkg-deb", "dpkg-scanpackages", "systemctl", "unshare", "nsenter", "mount", "ssh", "ssh-keygen")


def why_not() -> str:
    """The reason why this machine can have no machines of its own; empty if it can."""
    if os.geteuid():
        return "machines with a root file system of their own need root"
    missing = [name for name in _NEEDED if shutil.which(name) is None]
    return f"machines with a root file system of their own need {', '.join(missing)}" if missing else ""


def path(*more: str) -> Path:
    """The folder of the root file system of this very recipe, with more packages."""
    recipe = " ".join((SUITE, USER, *PACKAGES, *more))
    return cache_root() / f"debian-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def ensure_made(tell: Callable[[str], None] = print, more: Sequence[str] = ()) -> Path:
    """Give the folder, making it first if this machine has none yet. Raises LabError."""
    found = path(*more)
    if not found.exists():
        with exclusive(found.with_suffix(".lock")):
            if not found.exists():
                tell("fetching a small Debian, once per machine, about a minute")
                _make(found, (*PACKAGES, *more))
    return found


def _make(wanted: Path, packages: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="debian-", dir=wanted.parent) as place:
        folder = Path(place)
        try:
            _run(["apt-get", "download", "debootstrap"], folder)
        except LabError:
            _run(["apt-get", "update"], folder)
            _run(["apt-get", "download", "debootstrap"], folder)
        (package,) = folder.glob("*.deb")
        _run(["dpkg-deb", "--extract", package.name, "debootstrap"], folder)
        made = folder / "made"
        command = [str(folder / "debootstrap/usr/sbin/debootstrap"), "--variant=minbase"]
        command += [f"--include={','.join(packages)}", SUITE, str(made), _mirror(folder)]
        _run(command, folder, {"DEBOOTSTRAP_DIR": str(folder / "debootstrap/usr/share/debootstrap")})
        _run(["chroot", str(made), "useradd", "--create-home", "--shell", "/bin/bash", USER], folder)
        (made / "etc/sudoers.d/lab").write_text(f"{USER} ALL=(ALL) NOPASSWD: ALL\n")
        (made / "etc/apt/sources.list").unlink()
        for copy in (made / "var/cache/apt/archives").glob("*.deb"):
            copy.unlink()
        made.chmod(0o755)
        made.rename(wanted)


def _mirror(folder: Path) -> str:
    """The place from which this machine has its own packages of that suite, or that of every Debian."""
    wanted = ["apt-get", "indextargets", "--format", "$(SITE)", f"Codename: {SUITE}", "Created-By: Packages"]
    found = _run(wanted, folder).split()
    return found[0] if found else ""


def _run(command: Sequence[str], folder: Path, own: Mapping[str, str] | None = None) -> str:
    environment = {**os.environ, **(own or {})}
    try:
        return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        said = (str(getattr(error, "stderr", "") or getattr(error, "stdout", "")) or str(error)).strip()[-500:]
        raise LabError(f"A small Debian cannot be made with {command[0]}: {said}") from error
