"""The packages of a machine of Debian or Fedora: installed ones, fetched ones, held ones, and the repository."""

from __future__ import annotations

from collections.abc import Iterable

from tests.sandbox.kubeadm.description import PACKAGES

APT, DNF = "apt", "dnf"
LOCK = "/var/lib/dpkg/lock-frontend"


class Packages:
    """kubeadm, kubelet and kubectl. Versions are such as 1.36.1."""

    def __init__(self, version: str, available: Iterable[str]) -> None:
        self.installed = dict.fromkeys(PACKAGES, version)
        self.manager = APT
        self.held = set(PACKAGES)
        """The packages that change only on demand: held ones of apt, excluded ones of dnf."""
        self.available = {version, *available}
        self.fetched: set[tuple[str, str]] = set()
        self.locked_until = 0.0
        """The time until which another installation has the lock of apt."""
        self.repository_away = False
        """Whether nothing can be fetched."""
        self.not_in_archives: set[str] = set()
        """The programs that archives lack."""
        self.unproven: set[str] = set()
        """The versions whose packages are not signed with a known key."""

    def fetch(self, name: str, version: str) -> str:
        """Fetch and prove a package; gives the fault."""
        if version not in self.available:
            return f"E: Version '{version}-*' for '{name}' was not found"
        if version in self.unproven:
            return "E: There were unauthenticated packages and -y was used without --allow-unauthenticated"
        if (name, version) not in self.fetched and self.repository_away:
            return "E: Failed to fetch the archive: Could not connect to the repository"
        self.fetched.add((name, version))
        return ""

    def install(self, name: str, version: str, *, held_too: bool) -> tuple[bool, str]:
        """Install a package; gives whether that changed something, and the fault."""
        if self.installed[name] == version:
            return False, ""
        if name in self.held and not held_too:
            return False, "E: Held packages were changed and -y was used without --allow-change-held-packages."
        fault = self.fetch(name, version)
        if not fault:
            self.installed[name] = version
            if self.manager == APT:
                # The worst case: that the installation of a package ends its hold.
                self.held.discard(name)
        return not fault, fault


def waits(locked: float, limit: float) -> tuple[float, str]:
    """The seconds for which apt waits for a lock that another one has for so long, and the fault if it gives up then
    (apt.conf(5), `DPkg::Lock::Timeout`)."""
    fault = f"E: Could not get lock {LOCK}. It is held by process 7 (unattended-upgr)" if locked > limit else ""
    return max(0.0, min(locked, limit)), fault


def named(wanted: str) -> tuple[str, str]:
    """Name and version of a package as the modules write it: `kubeadm=1.36.1-*` or `kubeadm-1.36.1`."""
    name, _sign, version = wanted.replace("=", "-", 1).partition("-")
    return name, version.partition("-")[0]
