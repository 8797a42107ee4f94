"""What the variables of the role member_kubeadm say of the upgrade of one machine: versions, paths and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from .kubeadm_plans import first_machine
from .role_variables import RoleVariables

MANIFESTS = "/etc/kubernetes/manifests"
API_SERVER, ETCD = f"{MANIFESTS}/kube-apiserver.yaml", f"{MANIFESTS}/etcd.yaml"
CACHE = "/var/cache/stateful-upgrade"
MANAGERS = {"apt": "apt", "dnf": "dnf", "dnf5": "dnf", "yum": "dnf"}
LISTS = {"apt": "/etc/apt/sources.list.d/kubernetes.list", "dnf": "/etc/yum.repos.d/kubernetes.repo"}
LOCK_BUSY = 75
OF_CONTROL_PLANE = "See whether it is a machine of the control plane"


@dataclass(frozen=True)
class Kubeadm(RoleVariables):
    """The variables of the role, each read when it is needed."""

    role: ClassVar[str] = "member_kubeadm"

    @property
    def retries(self) -> Mapping[str, int]:
        """The budgets by the class of a failure."""
        return self.fields("retries")

    @cached_property
    def machine(self) -> Mapping[str, Any]:
        """The fact of the machine, which the look at it has made."""
        return dict(self.given("member_machine") or {})

    @cached_property
    def version(self) -> str:
        """The version to which the batch leads."""
        return self.text("version")

    @cached_property
    def node(self) -> str:
        """The Kubernetes node of the machine."""
        return self.text("node")

    @property
    def step(self) -> list[str]:
        """The subcommand of `kubeadm upgrade`: apply on one machine of the control plane, node on all others."""
        return ["apply", "-y", f"v{self.version}"] if self.text("course") == "apply" else ["node"]

    @cached_property
    def manager(self) -> str:
        """The package manager, as Ansible names it."""
        return str((self.given("ansible_facts") or {}).get("pkg_mgr", ""))

    @cached_property
    def installer(self) -> str:
        """The way of installing: a command of the user, single files, or packages; empty if there is none."""
        if self.words("install_command"):
            return "command"
        return "url" if self.text("url") else MANAGERS.get(self.manager, "")

    @property
    def tools(self) -> list[str]:
        """The programs that are upgraded after the drain; kubectl where it is installed."""
        return ["kubelet", *(["kubectl"] if self.machine.get("kubectl") else [])]

    @property
    def programs(self) -> list[str]:
        """All programs."""
        return ["kubeadm", *self.tools]

    @property
    def home(self) -> str:
        """The start of the path of a program: one that is no package may be where sudo does not look."""
        return f"{self.text('folder')}/" if self.text("url") and not self.words("install_command") else ""

    @property
    def staging(self) -> str:
        """The folder of what is fetched."""
        return f"{CACHE}/{self.version}"

    @property
    def excludes(self) -> str:
        """The option of dnf; dnf5 has none for this, and both have --setopt (dnf5/commands)."""
        return f"--setopt=disable_excludes={self.text('disable_excludes')}"

    def packages(self, *programs: str) -> list[str]:
        """The names by which the package manager finds each revision of the version."""
        ending = f"={self.version}-*" if self.installer == "apt" else f"-{self.version}"
        return [f"{each}{ending}" for each in programs]

    @property
    def questions(self) -> Mapping[str, list[str]]:
        """The commands that ask for the versions, the free space and which machine it is. They need no rights."""
        return {
            "kubeadm": [f"{self.home}kubeadm", "version", "-o", "short"],
            "kubelet": [f"{self.home}kubelet", "--version"],
            "kubectl": [f"{self.home}kubectl", "version", "--client", "-o", "json"],
            "space": ["df", "--block-size=1", "--output=avail", "/", "/var/lib"],
            "machine_id": ["cat", "/etc/machine-id"],
        }

    @property
    def alone(self) -> list[str]:
        """The start of each command of kubeadm, which has no lock of its own, and outlives the run that started it."""
        lock = "/run/lock/stateful-upgrade-kubeadm"
        return ["flock", "--conflict-exit-code", str(LOCK_BUSY), "--timeout", self.text("timeout"), lock]

    @property
    def is_installed(self) -> bool:
        """Whether the new kubeadm is installed before it is asked; dnf does not fetch a package that is."""
        return self.installer == "command" or (self.installer != "url" and self.machine.get("kubeadm") == self.version)

    @property
    def new(self) -> str:
        """The new kubeadm, before it is installed."""
        if self.is_installed:
            return "kubeadm"
        return f"{self.staging}/kubeadm" if self.installer == "url" else f"{self.staging}/usr/bin/kubeadm"

    @property
    def plans(self) -> bool:
        """Whether kubeadm plans the upgrade here: on the machine that gets `apply`.

        A command of the user brings kubeadm only when the machine goes. With all others the first machine plans.
        """
        if self.text("course") != "apply":
            return False
        return (
            self.installer == "command" or first_machine(self.given("member_kubeadm_plan"), self.version) == self.node
        )
