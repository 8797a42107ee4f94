"""The cache of things that are made once per machine, and the file lock around making them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_root() -> Path:
    """The project's cache directory: $STATEFUL_UPGRADE_CACHE, else the system's for root, else the user's."""
    chosen = os.environ.get("STATEFUL_UPGRADE_CACHE")
    if chosen:
        return Path(chosen)
    if os.geteuid() == 0:
        return Path("/var/cache/stateful-upgrade")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stateful-upgrade"


@contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Hold the lock file for the length of the block, and wait while another process holds it."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
