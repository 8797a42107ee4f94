"""`kubeadm upgrade apply` and `kubeadm upgrade node` (`cmd/kubeadm/app/cmd/phases/upgrade` of Kubernetes)."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable
from dataclasses import dataclass, field
from functools import partial

from tests.sandbox.clock import Clock
from tests.sandbox.kubeadm.addons import Addons
from tests.sandbox.kubeadm.building import CONFIGURATION, SYSTEM, configuration
from tests.sandbox.kubeadm.control_plane import ControlPlane
from tests.sandbox.kubeadm.description import Pace, image_of, numbers_of
from tests.sandbox.kubeadm.process import Ended, Steps
from tests.sandbox.kubernetes.cluster import Kubernetes
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, NODES
from tests.sandbox.kubernetes.objects import condition_of

LOOK = 1.0
"""Seconds between two looks of kubeadm."""
STACK = "To see the stack trace of this error execute with --v=5 or higher"
_CONTROL_PLANE = "error: error execution phase control-plane: couldn't complete the static pod upgrade"
_PUT_BACK = "couldn't upgrade control plane. kubeadm has tried to recover everything into the earlier state."
_PREFLIGHT = "error: error execution phase preflight: "
_READY = "ControlPlaneNodesReady"
OF_NODE, OF_DNS = ("SystemVerification", "ContainerRuntimeVersion"), ("CoreDNSUnsupportedPlugins", "CoreDNSMigration")
OF_CLUSTER = ("CreateJob",)
"""The checks in their groups; kubeadm ends at the first group with an error, before `ControlPlaneNodesReady`."""
_FILE = "/etc/kubernetes/admin.conf"
FAILED = """[preflight] Some fatal errors occurred:
{}
[preflight] If you know what you are doing, you can make a check non-fatal with `--ignore-preflight-errors=...`"""
_TOO_NEW = f"""{_PREFLIGHT}the version argument is invalid due to these errors:

\t- Specified version to upgrade to "v{{}}" is higher than the kubeadm version "v{{}}". \
Upgrade kubeadm first using the tool you used to install kubeadm

Can be bypassed if you pass the --force flag"""
_FATAL = f"""{_PREFLIGHT}the version argument is invalid due to these fatal errors:

{{}}
Please fix the misalignments highlighted above and try upgrading again"""
_TOO_HIGH = 'Specified version to upgrade to "v{}" is too high; kubeadm can upgrade only 1 minor version at a time'
REFUSED = 'Get "https://api.test:6443/api/v1": dial tcp: connect: connection refused'


@dataclass
class Shared:
    """All that the machines of one cluster have in common."""

    kubernetes: Kubernetes
    control_plane: ControlPlane
    addons: Addons
    pace: Pace
    plans: int = 0
    """The plans of kubeadm under way."""

    @property
    def clock(self) -> Clock:
        """The time of all."""
        return self.kubernetes.clock

    def version(self) -> str:
        """The version in the ConfigMap of kubeadm, such as 1.35.1."""
        found = self.kubernetes.server.resources.get(CONFIG_MAPS, SYSTEM, CONFIGURATION)
        lines = found["data"]["ClusterConfiguration"].splitlines()
        return next(each.partition(": v")[2] for each in lines if each.startswith("kubernetesVersion: "))


@dataclass
class OnMachine:
    """The files that kubeadm writes on one machine, and its faults."""

    name: str
    kubelet_configuration: str
    """The version whose kubeadm has written the configuration of the kubelet."""
    renewed: float = 0.0
    """The time at which the certificates were made."""
    broken: dict[str, str] = field(default_factory=dict)
    """The components that do not come up with a new image, each with the cause."""
    upgraded: list[str] = field(default_factory=list)
    """The components that were replaced, in their order."""
    preflight: dict[str, str] = field(default_factory=dict)
    """The checks of kubeadm that fail here, each with the cause."""
    left: list[str] = field(default_factory=list)
    """The folders that dry runs have left outside of the one they were given."""


def try_upgrade(
    shared: Shared, machine: OnMachine, own_version: str, target: str, ignored: Collection[str], folder: str
) -> Steps:
    """The command with `--dry-run`: it changes nothing but files in `folder`, or in one that it makes without one."""
    yield shared.pace.preflight
    machine.left += [] if folder else ["/etc/kubernetes/tmp/kubeadm-upgrade-dryrun"]
    fault = _no_client(shared) or _fault(shared, machine, own_version, target, ignored, (OF_NODE, OF_DNS))
    if fault:
        return Ended(1, "[upgrade/preflight] Running preflight checks\n", f"{fault}\n{STACK}\n")
    return Ended(0, "[upgrade/successful] Finished dryrunning successfully!")


def upgrade(shared: Shared, machine: OnMachine, own_version: str, target: str, ignored: Collection[str] = ()) -> Steps:
    """The command: with a target it is `apply`, without one `node`. Versions are such as 1.36.1."""
    yield shared.pace.preflight
    fault = _fault(shared, machine, own_version, target, ignored, (OF_NODE, OF_DNS, OF_CLUSTER))
    if fault:
        return Ended(1, "[preflight] Running pre-flight checks.\n", f"{fault}\n{STACK}\n")
    version = target or shared.version()
    said = ["[preflight] Running pre-flight checks."]
    if machine.name in shared.control_plane.images:
        fault = yield from _components(shared, machine, version)
        if fault:
            return Ended(1, "\n".join(said), f"{_CONTROL_PLANE}: {fault}\n{STACK}\n")
        machine.renewed = shared.clock.now()
        said.append("[upgrade/control-plane] The control plane instance for this node was successfully upgraded!")
    yield shared.pace.upload
    if target:
        body = configuration(version, shared.control_plane.described.endpoint)
        shared.kubernetes.server.resources.change(
            CONFIG_MAPS, SYSTEM, CONFIGURATION, lambda item: item.update(body | {"metadata": item["metadata"]})
        )
    machine.kubelet_configuration = version
    if machine.name in shared.control_plane.images and shared.control_plane.is_all_of(f"v{version}"):
        # Since 1.28 the last machine of the control plane does it (`unupgradedControlPlaneInstances`).
        shared.addons.upgrade(version)
    said.append(f'[upgrade] SUCCESS! A control plane node of your cluster was upgraded to "v{version}".')
    return Ended(0, "\n".join(said))


def _components(shared: Shared, machine: OnMachine, version: str) -> Generator[float, None, str]:
    """Replace the static pods one after the other; gives the fault, after which all are rolled back."""
    plane, before = shared.control_plane, dict(shared.control_plane.images[machine.name])
    for component in before:
        image = image_of(component, version)
        if plane.images[machine.name][component] == image:
            continue
        plane.images[machine.name][component] = image
        machine.upgraded.append(component)
        # The kubelet does this by itself, whatever becomes of kubeadm.
        plane.take_down(machine.name, component)
        if component not in machine.broken:
            shared.clock.later(shared.pace.static_pod, partial(plane.bring_up, machine.name, component))
        end = shared.clock.now() + shared.pace.patience
        while not (plane.answers and (machine.name, component) not in plane.away):
            if shared.clock.now() >= end:
                yield from _put_back(shared, machine.name, before)
                why = machine.broken.get(component, "context deadline exceeded")
                return f"{_PUT_BACK} Errors faced: {component}: {why}"
            yield LOOK
    return ""


def _put_back(shared: Shared, name: str, images: dict[str, str]) -> Generator[float, None, None]:
    plane = shared.control_plane
    for component, image in images.items():
        if plane.images[name][component] != image:
            plane.take_down(name, component)
            plane.images[name][component] = image
            yield shared.pace.static_pod
            plane.bring_up(name, component)


def _no_client(shared: Shared) -> str:
    """A dry run asks the API server for its version before all else."""
    said = f'couldn\'t create a Kubernetes client from file "{_FILE}": failed to get server version: {REFUSED}'
    return "" if shared.control_plane.answers else f"error: {said}"


def _fault(
    shared: Shared,
    machine: OnMachine,
    own_version: str,
    target: str,
    ignored: Collection[str],
    groups: Iterable[Collection[str]],
) -> str:
    """The end of its standard error, as the real one was recorded (`recorded`); empty if it may start."""
    if not shared.control_plane.answers:
        doing = "[upgrade] FATAL" if target else "unable to fetch the kubeadm-config ConfigMap"
        return f"error: {doing}: failed to get config map: {REFUSED}"
    # `kubeadm upgrade node` looks at its own machine only.
    fault = fault_of_checks(shared, machine, ignored, groups if target else (OF_NODE,), of_cluster=bool(target))
    if fault:
        return f"{fault}\n{_PREFLIGHT}preflight checks failed"
    if target and numbers_of(target)[1] > numbers_of(shared.version())[1] + 1:
        return _FATAL.format(f"\t- {_TOO_HIGH.format(target)}\n")
    if target and numbers_of(target) > numbers_of(own_version):
        return _TOO_NEW.format(target, own_version)
    return ""


def fault_of_checks(
    shared: Shared,
    machine: OnMachine,
    ignored: Collection[str],
    groups: Iterable[Collection[str]],
    *,
    of_cluster: bool = True,
) -> str:
    """The failed checks of the first group that has one; `of_cluster` its control plane has to be Ready, too."""
    for group in groups:
        faults = {name: said for name, said in machine.preflight.items() if name in group and name not in ignored}
        if faults:
            return FAILED.format("\n".join(f"\t[ERROR {name}]: {said}" for name, said in faults.items()))
    nodes = [shared.kubernetes.server.resources.get(NODES, "", each) for each in shared.control_plane.images]
    away = [each["metadata"]["name"] for each in nodes if condition_of(each, "Ready").get("status") != "True"]
    if of_cluster and away and _READY not in ignored:
        said = f"there are NotReady control-planes in the cluster: [{' '.join(away)}]"
        return FAILED.format(f"\t[ERROR {_READY}]: {said}")
    return ""
