"""The upgrading process goes before the members on this machine's few cores: elsewhere it has a machine of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.kubelet.limits import PREFIX, NotEnforced, hierarchy, remove


@contextmanager
def first_served() -> Iterator[bool]:
    """This process, and what it starts, is served before all others; gives whether that is possible.

    By a control group: where the kernel groups sessions (autogroup, sched(7)), a priority (nice) counts within one
    session only, and each worker of Ansible starts one of its own.
    """
    found = hierarchy()
    if found is None:
        yield False
        return
    usual, group = found.own(), found.root / f"{PREFIX}-first-{os.getpid()}"
    try:
        _enter(found.favour(group.name))
    except (NotEnforced, OSError):
        remove(group)
        yield False
        return
    try:
        yield True
    finally:
        _enter(usual)
        remove(group)


def _enter(group: Path) -> None:
    (group / "cgroup.procs").write_text("0")
