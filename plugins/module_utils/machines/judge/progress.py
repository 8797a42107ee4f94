"""Whether machines are back on the target. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...common.release import Release
from ...common.verdict import Reason, as_verdict, refused, waiting
from ..observe.state import KubeadmCluster, is_build_of

UPDATING = "machine_updating"
_GONE = "See the log of its kubelet (journalctl -u kubelet), or take it out of upgrade_groups if it was deleted."


@as_verdict
def judge_returned(seen: KubeadmCluster, names: Collection[str], target: str) -> Iterator[Reason]:
    """Whether these machines are Ready on the target, with all components on them."""
    for name in names:
        machine = seen.machines.get(name)
        if machine is None:
            said = f"Machine {name} no longer has a Kubernetes node."
            yield waiting("machine_gone", said, _GONE, about=name)
            continue
        if not machine.is_on(target):
            said = f"The kubelet of machine {name} is {machine.kubelet}, and {target} is not reported yet."
            other = is_build_of(target, machine.kubelet)
            also = f" If it is wanted without that build, give {machine.kubelet} as target_version." if other else ""
            yield waiting(UPDATING, said, f"See its log: journalctl -u kubelet.{also}", about=name)
        elif not machine.ready:
            said = f"Machine {name} is not Ready on {target} yet."
            yield waiting(UPDATING, said, "See the log of its kubelet: journalctl -u kubelet.", about=name)
        for each in seen.by_name.get(name, ()):
            if not each.ready:
                said = f"{each.name} on machine {name} is not Ready yet."
                yield waiting("component_unwell", said, "See its log: crictl logs.", about=f"{name} {each.name}")


@as_verdict
def judge_failed(seen: KubeadmCluster, failed: Mapping[str, str], target: str) -> Iterator[Reason]:
    """The causes on the hosts of these machines, by their names, and after each one the state of its machine.

    One that is back on the target all the same is not held up here: the failure is reported when the batch ends.
    """
    for name, cause in failed.items():
        away = judge_returned(seen, (name,), target).reasons
        if away:
            remedy = "Correct this on the host, and run the playbook again."
            # The cause names the host, which may have the name of its machine.
            said = f"A step on machine {name} failed: {cause.removeprefix(f'{name}, ').rstrip('.')}."
            yield refused("machine_step_failed", said, remedy)
            yield from away


@as_verdict
def judge_whole(seen: KubeadmCluster, names: Collection[str], target: str) -> Iterator[Reason]:
    """Whether all these machines are on the target, and none is cordoned by a run any more."""
    for name in names:
        if name in seen.machines and not seen.is_done(name, target):
            said = f"Machine {name} is not on {target}."
            yield waiting(UPDATING, said, "Run the playbook again.", about=name)


@as_verdict
def judge_past(seen: KubeadmCluster, names: Collection[str], version: Release) -> Iterator[Reason]:
    """Whether all these machines have this version on the way, or a later one, before the first goes to the next."""
    for name in names:
        if name in seen.machines and not seen.is_past(name, version):
            said = f"Machine {name} is not on {version} yet, and no machine goes further until it is."
            yield waiting(UPDATING, said, "See the log of its kubelet, or run the playbook again.", about=name)


def left_of(seen: KubeadmCluster, names: Collection[str], target: str) -> tuple[float, ...]:
    """The steps that are left, summed over these machines: each has the version, and is Ready."""
    there = [seen.machines[name] for name in names if name in seen.machines]
    return (float(sum((not each.is_on(target)) + (not each.ready) for each in there)),)
