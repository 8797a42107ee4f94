"""A plugin of pytest (`-p tests.runs.prepared`) that prepares its process for whole runs in it, before all else.

The loader of ansible-core finds the checkout as the collection, the settings of Ansible are the tests' own, and the
functions of `time` follow a virtual clock while there is one.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import gc
import os
import shutil
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.runs.turns import PoolOfTurns, Turns

ROOT = Path(__file__).resolve().parents[2]
MEMORY = Path("/dev/shm")  # noqa: S108 - only where there is one
"""A file system in memory. Each connection makes a folder, and removing it from a disk takes milliseconds."""

COLLECTED = 50_000, 20, 100
"""Thresholds of the garbage collector: a run makes millions of objects, and hardly any of them in a circle."""

_REAL = time.time, time.monotonic, time.sleep


class Time:
    """The clock that this process follows."""

    clock: Turns | None = None
    """None is the real time."""


def _time() -> float:
    return Time.clock.now() if Time.clock else _REAL[0]()


def _monotonic() -> float:
    return Time.clock.now() if Time.clock else _REAL[1]()


def _sleep(seconds: float) -> None:
    Time.clock.sleep(seconds) if Time.clock else _REAL[2](seconds)


class _Pool(concurrent.futures.ThreadPoolExecutor):
    """A pool whose threads take turns while there is a clock. Ansible makes a class of its own from it."""

    def __new__(cls, *_given: Any, **_named: Any) -> Any:
        return PoolOfTurns(Time.clock) if Time.clock and cls is _Pool else super().__new__(cls)


def _prepare() -> None:
    # Functions of the collection have them as defaults, so that they come before its import.
    for name, function in (("time", _time), ("monotonic", _monotonic), ("sleep", _sleep)):
        setattr(time, name, function)
    vars(concurrent.futures)["ThreadPoolExecutor"] = _Pool
    home = Path(tempfile.mkdtemp(prefix="runs-", dir=MEMORY if MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    link = home / "ansible_collections/stateful/upgrade"
    link.parent.mkdir(parents=True)
    link.symlink_to(ROOT, target_is_directory=True)
    tempfile.tempdir = str(home)
    for name in [each for each in os.environ if each.startswith(("ANSIBLE_", "K8S_AUTH_"))]:
        del os.environ[name]
    os.environ |= {
        "ANSIBLE_COLLECTIONS_PATH": str(home),
        "ANSIBLE_HOME": str(home),
        "ANSIBLE_LOCAL_TEMP": str(home / "tmp"),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_SHOW_CUSTOM_STATS": "true",
    }
    # The settings are read when ansible-core is imported.
    import_module("ansible.plugins.loader").init_plugin_loader()
    gc.set_threshold(*COLLECTED)


_prepare()
