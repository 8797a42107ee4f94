"""Makes the checkout importable as the collection ansible_collections.stateful.upgrade, for all tests.

Three package objects are enough: no link, no plugin, nothing private of ansible-core. Nothing is done here if a loader
finds the sources under that name already, as under ansible-test.
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent
NAMES = ("ansible_collections", "stateful", "upgrade")


def _importable() -> bool:
    """Whether a loader finds the collection here already."""
    try:
        spec = importlib.util.find_spec(".".join(NAMES))
    except (ModuleNotFoundError, ValueError):
        # The packages that are made below have no spec.
        return False
    return spec is not None and ROOT in (Path(place).resolve() for place in spec.submodule_search_locations or ())


def _provide_packages() -> None:
    for depth in range(1, len(NAMES) + 1):
        name = ".".join(NAMES[:depth])
        package = sys.modules.setdefault(name, ModuleType(name))
        if depth == len(NAMES) or not hasattr(package, "__path__"):
            package.__path__ = [str(ROOT)] if depth == len(NAMES) else []
        if depth > 1:
            setattr(sys.modules[".".join(NAMES[: depth - 1])], NAMES[depth - 1], package)


if not _importable():
    _provide_packages()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuses a test named after the time: the workers of pytest-xdist look one after the other for the same names."""
    now = time.time()
    minutes = (time.strftime("%Y-%m-%dT%H:%M", time.gmtime(now - 60 * each)) for each in range(3))
    # Fixed times in the names of tests are whole minutes.
    lately = re.compile(rf"(?:{'|'.join(minutes)}):(?!00)\d\d")
    if dated := [item.nodeid for item in items if lately.search(item.nodeid)]:
        raise pytest.UsageError("The names of tests may not hold the time at which they are found: " + ", ".join(dated))


@pytest.fixture(scope="session", autouse=True)
def hang_up_ends_a_process() -> Iterator[None]:
    """Also where the tests were started under nohup, whose children would inherit that they ignore it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="session")
def collections_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for ANSIBLE_COLLECTIONS_PATH that holds a link to the checkout, and no other collection."""
    path = tmp_path_factory.mktemp("collections")
    link = path.joinpath(*NAMES)
    link.parent.mkdir(parents=True)
    link.symlink_to(ROOT, target_is_directory=True)
    return path


@pytest.fixture(scope="session")
def ansible_environment(collections_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment for Ansible's programs as subprocesses: this collection, this Python, nothing of the user's."""
    home = tmp_path_factory.mktemp("ansible-home")
    # A controller that waits for its workers looks a thousand times a second by default, and tests run several of them.
    (home / "ansible.cfg").write_text("[defaults]\ninternal_poll_interval = 0.01\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "K8S_AUTH_"))}
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', os.defpath)}",
        "ANSIBLE_COLLECTIONS_PATH": str(collections_path),
        "ANSIBLE_CONFIG": str(home / "ansible.cfg"),
        "ANSIBLE_HOME": str(home),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "ANSIBLE_NOCOLOR": "1",
    }
