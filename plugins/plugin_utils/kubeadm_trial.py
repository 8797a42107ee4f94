"""What the new kubeadm says of the upgrade of a machine before anything is changed: its dry run, images and plan."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from .kubeadm_answers import brought, missing_images, said_last
from .kubeadm_blockers import blockers_in, obstacles_of
from .kubeadm_failures import tried_again
from .kubeadm_plans import manifest_changes, planned, shared_arguments
from .kubeadm_settings import API_SERVER, CACHE, OF_CONTROL_PLANE, Kubeadm
from .on_machine import Refused, StepFailed, TaskMachine, again, proven

Json = Mapping[str, Any]
WAIT = 30.0
"""Seconds before a further try of kubeadm."""
DRY_FOLDER = f"{CACHE}/dry-run"
"""A dry run writes only there (GetDryRunDir in constants.go of kubeadm), and before kubeadm 1.32 to a folder below
/etc/kubernetes/tmp."""
IGNORED = "--ignore-preflight-errors="
LATER_CHECKS = ("CoreDNSMigration", "CoreDNSUnsupportedPlugins"), ("ControlPlaneNodesReady", "CreateJob")
"""The checks of the groups after the first one (RunUpgradeChecks, RunCoreDNSMigrationCheck and CheckClusterHealth of
kubeadm), which are ignored once they were named. kubeadm refuses `all` together with other names."""
JSONPATH = "--output=jsonpath="


def patiently(machine: TaskMachine, role: Kubeadm, step: str, argv: Sequence[str]) -> dict[str, Any]:
    """The result of a command of kubeadm, which is tried again after a failure that may pass; with its `attempts`.

    Raises:
        StepFailed: a try has not ended within the time limit.
    """
    attempts = 0
    while True:
        attempts += 1
        result = {**machine.answer(step, argv), "attempts": attempts}
        if not tried_again(result, role.retries, WAIT):
            return result


def try_upgrade(machine: TaskMachine, role: Kubeadm) -> dict[str, Any]:
    """All that the new kubeadm says. With a command of the user it is there only before the drain of the machine.

    Raises:
        Refused: something stands in the way of the upgrade.
    """
    if machine.checks:
        return {}
    try:
        if role.installer != "url" and not role.is_installed:
            _unpack(machine, role)
        _Trial(machine, role, controls=machine.exists(OF_CONTROL_PLANE, API_SERVER)).judge()
    finally:
        if role.installer not in ("url", "command"):
            machine.result("file", path=role.staging, state="absent")
    return {}


def _unpack(machine: TaskMachine, role: Kubeadm) -> None:
    folder, manager = role.staging, role.installer
    fetching = {
        "apt": ["apt-get", "--quiet", "download"],
        "dnf": ["dnf", "--quiet", "--assumeyes", "--downloadonly", f"--destdir={folder}", role.excludes, "install"],
    }
    unpacking = {
        "apt": ["dpkg-deb", "--extract"],
        "dnf": ["rpm", "--install", "--nodeps", "--noscripts", "--notriggers", "--excludedocs", "--root", folder],
    }
    fetch = [*fetching[manager], *role.packages("kubeadm")]
    try:
        step = "Make the folder for the new kubeadm"
        machine.looked(step, "file", path=folder, state="directory", mode="0755")
        step = "Fetch its package"
        proven(step, again(lambda: machine.result("command", argv=fetch, chdir=folder)))
        step = "Find the file of the package"
        files = machine.looked(step, "find", paths=[folder], patterns=["kubeadm*.deb", "kubeadm*.rpm"])["files"]
        if not files:
            raise StepFailed("Unpack it", {"msg": "the package manager has fetched no file"})
        where = [folder] if manager == "apt" else []
        machine.ran("Unpack it", [*unpacking[manager], files[0]["path"], *where])
    except StepFailed as failure:
        raise Refused(
            f"kubeadm {role.version} cannot be unpacked ({failure.name}), so {role.node} was left alone:"
            f" {said_last(failure.result)}. Correct that, and run again."
        ) from failure


@dataclass
class _Trial:
    """The answers of the new kubeadm on a machine."""

    machine: TaskMachine
    role: Kubeadm
    controls: bool
    """Whether it is one of the control plane."""
    _blockers: list[dict[str, str]] = field(default_factory=list)
    _named: list[str] = field(default_factory=list)
    """The checks that the first dry run has named."""
    _pull_fault: str = ""
    _brought: list[dict[str, Any]] = field(default_factory=list)

    def judge(self) -> None:
        """Ask for all that stands in the way.

        Raises:
            Refused: with a sentence for each cause that has found something.
        """
        role = self.role
        self._try()
        if not no_images(role, controls=self.controls) and (role.flag("pull") or self.controls):
            listed = self._images()
            if listed and self.controls:
                self._compare(listed)
        # Its Job may run on any machine, so the images are pulled before. The name of the Job is a time, so two plans
        # at once may fail.
        planned_too = self._plan() if role.plans else []
        found = obstacles_of(
            self._blockers,
            step=role.step[0],
            version=role.version,
            node=role.node,
            pull=self._pull_fault,
            brought=self._brought,
            planned=planned_too,
        )
        if found:
            raise Refused(f"{' '.join(found)} Then run again.")

    def _try(self) -> None:
        """kubeadm makes its checks and the new manifests, asks the API for all that it needs, and changes nothing.

        It ends at the first group of its checks that has errors, so it is asked again with these ignored, group by
        group.
        """
        role, (word, *more) = self.role, self.role.step
        start = [*role.alone, "env", f"KUBEADM_UPGRADE_DRYRUN_DIR={DRY_FOLDER}", role.new, "upgrade"]
        dry = [*start, word, "--dry-run", *more, *role.words("arguments")]
        first = patiently(self.machine, role, "Let kubeadm try the upgrade, without any change", dry)
        answers = [first]
        self._named = [each["check"] for each in blockers_in(first) if each["check"]]
        for count in range(len(LATER_CHECKS) + 1) if self._named else ():
            ignored = [*self._named, *chain(*LATER_CHECKS[:count])]
            argv = [*dry, f"{IGNORED}{','.join(ignored)}"]
            answers.append(self.machine.answer("See what else stands in the way", argv))
        self._blockers = unique(each for answer in answers for each in blockers_in(answer))
        self.machine.looked("Remove the files of the dry run", "file", path=DRY_FOLDER, state="absent")

    def _asking(self) -> list[str]:
        """The kubelet of a worker may read the ConfigMap of kubeadm too, as its `kubeadm upgrade node` does."""
        kubectl = f"{self.role.home if self.role.machine.get('kubectl') else ''}kubectl"
        user = "admin" if self.controls else "kubelet"
        return [kubectl, f"--kubeconfig=/etc/kubernetes/{user}.conf", "--namespace=kube-system", "get"]

    def _images(self) -> str:
        """The list of the images of the new version, which are pulled; empty if it cannot be read."""
        role, listed = self.role, ""
        try:
            path = f"{JSONPATH}{{.data.ClusterConfiguration}}"
            read = [*self._asking(), "configmap", "kubeadm-config", path]
            step = "Read what kubeadm has written about the cluster"
            said = str(self.machine.ran(step, read)["stdout"])
            configuration = re.sub(r"(?m)^kubernetesVersion:.*$", f"kubernetesVersion: v{role.version}", said)
            listing = [role.new, "config", "images", "list", "--config", "/dev/stdin"]
            step = "List the images of the new version"
            listed = str(self.machine.ran(step, listing, stdin=configuration)["stdout"])
            if role.flag("pull") and not self._blockers:
                self._pull(listed)
        except StepFailed as failure:
            self._pull_fault = f"{failure.name}: {said_last(failure.result)}"
        return listed

    def _pull(self, listed: str) -> None:
        """Those that may run on the machine. The images after one that fails are still pulled."""
        present = str(self.machine.ran("See which images are there", ["crictl", "images", "-o", "json"])["stdout"])
        needed = re.compile("/" if self.controls else r"/(coredns|kube-proxy|pause):")
        wished = "\n".join(each for each in listed.splitlines() if needed.search(each))
        step, failures = "Pull the others", list[dict[str, Any]]()
        for image in missing_images(wished, present):
            result = again(partial(self.machine.result, "command", argv=["crictl", "pull", image]))
            if result.get("failed"):
                failures.append(result)
            else:
                self.machine.changed(step)
        for each in failures[:1]:
            raise StepFailed(step, each)

    def _compare(self, listed: str) -> None:
        """etcd and CoreDNS with those of the new version."""
        role = self.role
        argv = [*self._asking(), "deployment", "coredns", f"{JSONPATH}{{.spec.template.spec.containers[0].image}}"]
        dns = str(self.machine.answer("See the image of CoreDNS", argv).get("stdout") or "")
        self._brought = brought(listed, str((role.machine.get("etcd") or {}).get("version") or ""), dns)
        if self._brought:
            said = ", ".join(each["said"] for each in self._brought)
            self.machine.say(f"By kubeadm {role.version} on {role.node}: {said}.")

    def _plan(self) -> list[dict[str, str]]:
        """The blockers in the plan of kubeadm for the whole cluster.

        kubeadm makes the checks of the cluster that its dry run only pretends, among them a Job in kube-system, and
        names all versions. What was found before is ignored, so that it ends no plan; the Job then too, because its
        image may not be there. A manifest may have environment variables, such as the address of a proxy with a
        password, so nothing of the diff is in a result.
        """
        role, asked = self.role, [*self.role.alone, self.role.new, "upgrade"]
        given, target = role.words("arguments"), f"v{role.version}"
        passed_over = [f"{IGNORED}{','.join([*self._named, 'CreateJob'])}"] if self._named else []
        plan = [*asked, "plan", target, "-o", "json", *shared_arguments(given, "plan"), *passed_over]
        diff = [*asked, "diff", target, *shared_arguments(given, "diff")]
        step = "See which static pod manifests kubeadm would change"
        readings = [
            planned(patiently(self.machine, role, "Let kubeadm plan the upgrade", plan), role.version),
            manifest_changes(patiently(self.machine, role, step, diff)),
        ]
        notes = [each for reading in readings for each in reading["notes"]]
        if notes:
            self.machine.say(f"By the plan of kubeadm {role.version} on {role.node}: {'; '.join(notes)}.")
        return unique(each for reading in readings for each in reading["blockers"])


def no_images(role: Kubeadm, *, controls: bool) -> str:
    """Why the images are not known before kubeadm is installed; empty if they are."""
    if role.installer == "command":
        return "member_kubeadm_install_command brings the new kubeadm, which names them, only when it is installed"
    return "" if controls or role.machine.get("kubectl") else "it has no kubectl, which reads them"


def unique(found: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """Each once, in their order."""
    return list({tuple(each.items()): each for each in found}.values())
