"""What `kubeadm upgrade plan` and `kubeadm upgrade diff` say of an upgrade, read for the role member_kubeadm.

Each reading is a dictionary with `blockers`, which are those of a dry run, and `notes`, which are texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from ..module_utils.common.reading import Unreadable, flag, listed, one_of, text, whole_part
from ..module_utils.common.words import printable, shortened
from .kubeadm_answers import json_in
from .kubeadm_blockers import OF_VERSIONS, blocker, blockers_in, of_configuration

Json = Mapping[str, Any]
Reading = dict[str, Any]
_NO_JSON = re.compile(r"unknown (?:shorthand )?flag: (?:'o' in -o|--output)")
"""The answer of kubeadm before 1.25, which plans in text only (kubernetes/kubernetes#108447)."""
_BY_HAND = ("kubelet", "kubeadm")
"""Components of a plan that are no part of what kubeadm upgrades."""
_HEAD, _NEW = "--- ", "+++ new manifest"
_CHANGED = re.compile(r"^([+-]) *(?:- )?(?:(--[\w-]+)|image: (\S+))?")
_LONGEST = 300
OPTIONS: Mapping[str, Sequence[str]] = {
    "plan": (
        "--allow-experimental-upgrades",
        "--allow-release-candidate-upgrades",
        "--config",
        "--etcd-upgrade",
        "--feature-gates",
        "--ignore-preflight-errors",
        "--kubeconfig",
    ),
    "diff": ("--config", "--kubeconfig"),
}
"""The options that each command shares with `apply` (`cmd/kubeadm/app/cmd/upgrade` of Kubernetes 1.36.3)."""


def shared_arguments(given: Sequence[str], command: str) -> list[str]:
    """Those of the arguments for `kubeadm upgrade apply` that `plan` or `diff` takes too."""
    found, taken = list[str](), False
    for each in map(str, given):
        taken = each.partition("=")[0] in OPTIONS[command] if each.startswith("-") else taken
        found += [each] if taken else []
    return found


def first_machine(plan: Json, version: str) -> str:
    """The machine that goes first to a version by the plan of a run; empty if none goes there.

    A batch names its version only if that is not the one to which the run leads.
    """
    wanted = version.removeprefix("v")
    for batch in plan["batches"]:
        if str(batch.get("target_version") or plan["target_version"]).removeprefix("v") == wanted:
            return str(batch["members"][0])
    return ""


def planned(result: Json, target: str) -> Reading:
    """The reading of `kubeadm upgrade plan -o json` for a target such as 1.36.1.

    It has no answer if an API server is on the target already (`runPlan`, `cmd/upgrade/plan.go`), as after a run that
    was killed.
    """
    if result.get("rc", 1):
        older = _NO_JSON.search(str(result.get("stderr") or ""))
        said = "it plans only in text, so its dry run alone has decided"
        return _reading(notes=[said]) if older else _reading(blockers_in(result))
    said = str(result.get("stdout") or "")
    if "{" not in said:
        return _reading(notes=[f"an API server is on {target} already, so its plan is empty"])
    try:
        return _plan(whole_part(json_in(said)), target)
    except Unreadable as error:
        remedy = (
            "Look at it there with kubeadm upgrade plan -o json, and use a version of stateful.upgrade that reads it."
        )
        return _reading([blocker("", f"the answer of kubeadm upgrade plan cannot be read: {error}", remedy)])


def _plan(found: Json, target: str) -> Reading:
    one_of(found, "kind", ("UpgradePlan",))
    # Up to kubeadm 1.29 (v1alpha2) a plan is one upgrade (kubernetes/kubernetes#123461).
    upgrades = (_upgrade(found),) if "components" in found else listed(found, "availableUpgrades", _upgrade, ())
    components = [each for one in upgrades for each in one]
    configurations = listed(found, "configVersions", _configuration, ())
    blockers = [each for found_there in configurations for each in found_there]
    versions = {each.new for each in components if each.name == "kube-apiserver"}
    if target not in versions:
        said = f"it can upgrade to {' or '.join(sorted(versions)) or 'no version'}, and not to {target}"
        blockers.append(blocker("", said, OF_VERSIONS))
    return _reading(blockers, [", ".join(_changes(components))])


@dataclass(frozen=True)
class _PlannedComponent:
    """A component of a plan, with its versions on one machine, or in the whole cluster."""

    name: str
    now: str
    new: str


def _upgrade(found: Json) -> tuple[_PlannedComponent, ...]:
    def component(each: Json) -> _PlannedComponent:
        versions = (text(each, name, "").removeprefix("v") for name in ("currentVersion", "newVersion"))
        return _PlannedComponent(text(each, "name"), *versions)

    return listed(found, "components", component)


def _configuration(state: Json) -> list[dict[str, str]]:
    found = of_configuration(text(state, "group"), text(state, "currentVersion", ""), text(state, "preferredVersion"))
    return [found] if flag(state, "manualUpgradeRequired") else []


def _changes(components: Sequence[_PlannedComponent]) -> Iterator[str]:
    """The components of each pair of versions, without those that kubeadm does not upgrade."""
    names = dict[tuple[str, str], dict[str, None]]()
    for each in components:
        if each.name not in _BY_HAND:
            names.setdefault((each.now, each.new), {})[each.name] = None
    for (now, new), found in names.items():
        yield f"{', '.join(found)} {f'stays at {now}' if now == new else f'{now} → {new}'}"


def manifest_changes(result: Json) -> Reading:
    """The reading of `kubeadm upgrade diff`: for each manifest its image, its flags by name, and the other lines.

    Values are left out, since a manifest may have environment variables such as the address of a proxy.
    """
    if result.get("rc", 1):
        return _reading([{**each, "said": f"kubeadm upgrade diff: {each['said']}"} for each in blockers_in(result)])
    try:
        found = _manifests(str(result.get("stdout") or "").splitlines())
    except Unreadable as error:
        remedy = "Look at it there, and use a version of stateful.upgrade that reads it."
        return _reading([blocker("", f"the answer of kubeadm upgrade diff cannot be read: it {error}", remedy)])
    notes = [f"{name}: {_change(lines)}" for name, lines in sorted(found.items())]
    return _reading(notes=notes or ["no static pod manifest changes"])


def _manifests(lines: Sequence[str]) -> dict[str, list[str]]:
    """The changed lines of each manifest."""
    found, now = dict[str, list[str]](), ""
    for place, line in enumerate(lines):
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if line.startswith(_HEAD) and following == _NEW:
            now = PurePath(line.removeprefix(_HEAD)).stem
            found[now] = []
        elif now and line[:1] in "+-" and line and line != _NEW:
            found[now].append(line)
        elif not now and line and not line.startswith("["):
            raise Unreadable("begins with no manifest")
        elif now and line and line[0] not in " @+":
            raise Unreadable(f"has a line of an unknown form in {now}")
    return found


def _change(lines: Sequence[str]) -> str:
    images, flags, others = dict[str, str](), set[str](), 0
    for line in lines:
        sign, option, image = _CHANGED.match(line).groups()  # type: ignore[union-attr]
        if image:
            images[sign] = image.rpartition(":")[2]
        elif option:
            flags.add(option)
        else:
            others += 1
    said = [f"image {images.get('-', 'none')} → {images.get('+', 'none')}"] if images else []
    said += [f"flags {', '.join(sorted(flags))}"] if flags else []
    said += [f"{others} other line{'s' if others > 1 else ''}"] if others else []
    return shortened(printable(", ".join(said)), _LONGEST)


def _reading(blockers: Sequence[Mapping[str, str]] = (), notes: Sequence[str] = ()) -> Reading:
    return {"blockers": [*blockers], "notes": [printable(each) for each in notes if each]}
