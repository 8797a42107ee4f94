"""CPU limits of containers, by the kernel's CFS quota: `resources.limits.cpu` as the real kubelet enforces it.

Rules: a container may compute for its limit times 100 ms in every 100 ms, and at least for 1 ms (Kubernetes,
MilliCPUToQuota in pkg/kubelet/cm/helpers_linux.go). The files are those of the kernel's documentation: cgroup v1 in
admin-guide/cgroup-v1 and scheduler/sched-bwc, cgroup v2 in admin-guide/cgroup-v2.

All groups lie flat in the root of the hierarchy; their names begin with the mark of the lab's directory, so whoever
knows the directory finds them, also after the lab was killed.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from pathlib import Path

from tests.lab.api import Json
from tests.lab.kubelet.place import PodPlace
from tests.lab.processes import pod_user, spawn

PERIOD = 100_000
"""Microseconds; the real kubelet's default (cpuCFSQuotaPeriod)."""
LEAST_QUOTA = 1_000
"""Microseconds; the kernel takes no less (MinQuotaPeriod of the real kubelet)."""
MOUNTS = Path("/proc/self/mounts")
PREFIX = "stateful-upgrade"
PATIENCE, CHECK = 10.0, 0.01
"""Seconds that killed processes may take to leave their group, and between two looks."""
OF_TRIAL = 1.0
"""Seconds for the group of a trial, during which everything else stands still."""

_QUANTITY = re.compile(r"(\d+\.?\d*|\.\d+)(?:([num]|k)|[eE]([+-]?\d{1,2}))?")
_SCALE = {"n": -9, "u": -6, "m": -3, "k": 3}


class NotEnforced(Exception):
    """The limit cannot be enforced here; the message says why."""


def millicores(quantity: str | float) -> int:
    """Thousandths of a core of a Kubernetes quantity ("400m", "0.5", 1), rounded up. Raises ValueError."""
    found = _QUANTITY.fullmatch(str(quantity))
    if found is None:
        raise ValueError(f"{quantity!r} is not a quantity of CPU such as 400m, 0.5 or 1")
    number, suffix, exponent = found.groups()
    cores = Decimal(number).scaleb(_SCALE.get(suffix, 0) + int(exponent or 0))
    return int((cores * 1000).to_integral_value(ROUND_CEILING))


def quota(quantity: str | float) -> int:
    """Microseconds in each period."""
    return max(millicores(quantity) * PERIOD // 1000, LEAST_QUOTA)


@dataclass(frozen=True)
class Hierarchy:
    """The root of the control groups that have the controller cpu, in one of the kernel's two layouts."""

    root: Path
    version: int

    def hold(self, name: str, limit: str | float) -> Path:
        """Make a group of this name, or take it again, and give it the limit. Raises NotEnforced."""
        limits = {"cpu.cfs_period_us": str(PERIOD), "cpu.cfs_quota_us": str(quota(limit))}
        return self._group(name, {"cpu.max": f"{quota(limit)} {PERIOD}"} if self.version == 2 else limits)

    def favour(self, name: str) -> Path:
        """Make a group whose processes are served before all others. Raises NotEnforced."""
        return self._group(name, {"cpu.weight": "10000"} if self.version == 2 else {"cpu.shares": "262144"})

    def own(self, mine: Path = Path("/proc/self/cgroup")) -> Path:
        """The group that this process is in."""
        for line in mine.read_text().splitlines():
            _number, controllers, path = line.split(":", 2)
            if "cpu" in controllers.split(",") or (self.version == 2 and not controllers):
                found = self.root / path.lstrip("/")
                return found if found.is_dir() else self.root
        return self.root

    def _group(self, name: str, settings: Mapping[str, str]) -> Path:
        group = self.root / name
        try:
            if self.version == 2:
                self._hand_down()
            group.mkdir(exist_ok=True)
            for file, text in settings.items():
                (group / file).write_text(text)
        except OSError as error:
            remove(group)
            raise NotEnforced(f"{error.filename or group}: {error.strerror}") from error
        return group

    def _hand_down(self) -> None:
        """Groups have the controllers that their parent hands down. It stays so: others may rely on it by then."""
        control = self.root / "cgroup.subtree_control"
        if "cpu" not in control.read_text().split():
            control.write_text("+cpu")


def hierarchy(mounts: Path = MOUNTS) -> Hierarchy | None:
    """The hierarchy with the controller cpu. The kernel gives it to only one, whichever versions are mounted."""
    for line in mounts.read_text().splitlines():
        _device, point, kind, options = line.split()[:4]
        if kind == "cgroup" and "cpu" in options.split(","):
            return Hierarchy(Path(point), 1)
        controllers = Path(point, "cgroup.controllers")
        if kind == "cgroup2" and controllers.is_file() and "cpu" in controllers.read_text().split():
            return Hierarchy(Path(point), 2)
    return None


@lru_cache(maxsize=64)
def obstacle(limit: str | float) -> str:
    """The reason why a limit cannot be enforced here, or nothing: a process of the pods' user tries it."""
    found = hierarchy()
    if found is None:
        return "no control groups with the controller cpu are mounted"
    try:
        group = found.hold(f"{PREFIX}-trial-{os.getpid()}", limit)
        try:
            spawn(["true"], {}, Path("/"), subprocess.DEVNULL, user=pod_user(), group=group).wait()
        finally:
            _remove_all([group], OF_TRIAL)
    except NotEnforced as error:
        return str(error)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return ""


def confine(place: PodPlace, container: Json) -> Path | None:
    """The group that holds a container to its limit; None without one, or where an event says why it is not held."""
    limit = container.get("resources", {}).get("limits", {}).get("cpu")
    if limit is None:
        return None
    try:
        held = millicores(limit) > 0  # 0 is no limit, as in the real kubelet
        return _group(place.host.directory, (*place.name, container["name"]), limit) if held else None
    except (NotEnforced, ValueError) as error:
        message = f"Container {container['name']} runs without its CPU limit of {limit}: {error}"
        place.report("Warning", "CPULimitNotEnforced", message)
        return None


def _group(directory: Path, container: tuple[str, ...], limit: str | float) -> Path:
    found, why_not = hierarchy(), obstacle(limit)
    if found is None or why_not:
        raise NotEnforced(why_not)
    return found.hold(mark(directory) + "_".join(container), limit)


def mark(directory: Path) -> str:
    """The beginning of the names of all groups of a lab."""
    return f"{PREFIX}-{hashlib.sha256(str(directory).encode()).hexdigest()[:12]}_"


def groups_of(directory: Path) -> list[Path]:
    """The groups of the lab in this directory."""
    found = hierarchy()
    return sorted(found.root.glob(f"{mark(directory)}*")) if found else []


def remove(group: Path) -> bool:
    """Remove a group; False while processes are in it, or if the right is missing."""
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


async def removed(group: Path) -> bool:
    """Remove a group as soon as its processes are gone; gives whether they went in time."""
    deadline = time.monotonic() + PATIENCE
    while not (done := remove(group)) and time.monotonic() < deadline:
        await asyncio.sleep(CHECK)
    return done


def remove_groups(directory: Path) -> list[Path]:
    """Remove the groups of a lab whose processes have been killed; give those that could not be removed."""
    return _remove_all(groups_of(directory), PATIENCE)


def _remove_all(groups: list[Path], patience: float) -> list[Path]:
    deadline = time.monotonic() + patience
    while (groups := [group for group in groups if not remove(group)]) and time.monotonic() < deadline:
        time.sleep(CHECK)
    return groups
