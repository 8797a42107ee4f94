"""A process that has imported ansible-playbook and this collection, and is forked for each playbook of a fleet.

Imports take two thirds of the time for the plan of a cluster. It is a program of its own, which `Forks` starts:
`python prepared.py DESCRIPTOR`. Over a socket with that descriptor it gets a message for each playbook with three open
files: the request, the output, and a socket. The new process writes its number to that socket, and this one the exit
code later. It ends after its last playbook, once no process can ask for more.

The settings of Ansible are read at its import, so it serves only runs with the environment that it was started with.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FILES = 3
NO_FORK = 0
"""The number of a process that could not be forked. A later one may be."""
NEEDED = (
    "ansible.cli.playbook",
    "ansible.executor.task_queue_manager",
    "ansible.plugins.callback.default",
    "ansible.plugins.connection.local",
    "ansible.plugins.strategy.linear",
    "kubernetes",
)
"""Everything that takes long to import, and is the same in each run."""
INVENTORIES = ("host_list", "script", "auto", "yaml", "ini", "toml")
"""Plugins that Ansible asks about each inventory."""
COLLECTION = "ansible_collections.stateful.upgrade"
RARELY = (100_000, 50, 50)
"""The thresholds of the garbage collector. Each worker lives for one task, and memory that it scans is copied."""
POLL = 0.02
"""Seconds between two checks of Ansible whether a task has ended. Its default, 0.001, takes a tenth of a core."""
PLUGINS = Path(__file__).resolve().parents[2]


class PreparedProcess:
    """The playbooks that were forked and have not ended: number → the socket that waits for its exit code."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._running: dict[int, socket.socket] = {}

    def serve(self) -> dict[str, Any] | None:
        """Fork for each message. Returns the request in the new process, and None in this one when all have ended."""
        woken, wakes = socket.socketpair()
        wakes.setblocking(False)
        signal.set_wakeup_fd(wakes.fileno())
        for number in (signal.SIGCHLD, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: None)
        watched = [woken, self._channel]
        while self._channel in watched or self._running:
            ready = select.select(watched, [], [])[0]
            if woken in ready:
                woken.recv(4096)
                self._say_ends()
            if self._channel in ready:
                message, files = socket.recv_fds(self._channel, 1, FILES)[:2]
                if not message:
                    watched.remove(self._channel)
                elif request := self._forked(*files):
                    signal.set_wakeup_fd(-1)
                    return request
        return None

    def _forked(self, asked: int, output: int, status: int) -> dict[str, Any] | None:
        try:
            pid = os.fork()
        except OSError:
            # Memory or processes are short. The worker starts a process of its own, and those under way are still
            # followed.
            for descriptor in (asked, output):
                os.close(descriptor)
            with socket.socket(fileno=status) as waits, contextlib.suppress(OSError):
                waits.sendall(f"{NO_FORK}\n".encode())
            return None
        if pid:
            self._running[pid] = socket.socket(fileno=status)
            os.close(asked)
            os.close(output)
            return None
        for each in (self._channel, *self._running.values()):
            each.close()
        with open(asked, encoding="utf-8") as file:
            request: dict[str, Any] = json.load(file)
        with socket.socket(fileno=status) as waits:
            try:
                waits.sendall(f"{os.getpid()}\n".encode())
            except OSError:  # the worker that asked has given up
                os._exit(1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number in (1, 2):
            os.dup2(output, number)
        os.close(output)
        return request

    def _say_ends(self) -> None:
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            # The worker that waited for it may be gone.
            with self._running.pop(pid) as waits, contextlib.suppress(OSError):
                waits.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def load() -> None:
    """Import everything, including the plugins of this collection, which Ansible would compile at each import."""
    for name in NEEDED:
        # A package may be missing; the run will report that.
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    loaders = importlib.import_module("ansible.plugins.loader")
    loaders.init_plugin_loader()
    warnings.filterwarnings("ignore", "AnsibleCollectionFinder has already been configured")
    for loader, folder in ((loaders.action_loader, "action"), (loaders.lookup_loader, "lookup")):
        for path in sorted((PLUGINS / folder).glob("*.py")):
            loader.get(f"stateful.upgrade.{path.stem}", class_only=True)
    for name in INVENTORIES:
        loaders.inventory_loader.get(name, class_only=True)
    loaders.filter_loader.get("default")
    loaders.test_loader.get("defined")
    # Each process would read the variables again.
    variables: Any = importlib.import_module(f"{COLLECTION}.plugins.plugin_utils.variables")
    variables.table()
    faults: Any = importlib.import_module(f"{COLLECTION}.plugins.lookup.input_faults")
    for role in {each.role for each in variables.PLAYBOOKS.values()}:
        faults.specified(f"stateful.upgrade.{role}")
    gc.collect()
    gc.freeze()  # otherwise a process copies all of this memory when it collects


def become(request: dict[str, Any]) -> None:
    """Run the playbook of the request in this new process, with its environment and in its folder."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    # Ansible makes the folder for its files at its import, and removes it at the end of the process.
    gc.set_threshold(*RARELY)
    constants: Any = importlib.import_module("ansible.constants")
    path = importlib.import_module("ansible.utils.path")
    atexit.unregister(path.cleanup_tmp_file)
    folder = str(Path(constants.DEFAULT_LOCAL_TMP).parent)
    constants.DEFAULT_LOCAL_TMP = tempfile.mkdtemp(prefix=f"ansible-local-{os.getpid()}", dir=folder)
    atexit.register(path.cleanup_tmp_file, constants.DEFAULT_LOCAL_TMP, warn=True)
    constants.DEFAULT_INTERNAL_POLL_INTERVAL = max(constants.DEFAULT_INTERNAL_POLL_INTERVAL, POLL)
    sys.argv = ["ansible-playbook", *request["arguments"]]
    importlib.import_module("ansible.cli.playbook").main()


def main(arguments: Sequence[str]) -> None:
    """Import, and fork for each request."""
    sys.path.pop(0)  # that of this file
    load()
    templates = Path(tempfile.mkdtemp(prefix="stateful-upgrade-"))
    importlib.import_module(f"{COLLECTION}.plugins.module_utils.fleet.compiled_templates").keep_compiled_templates(
        templates
    )
    if request := PreparedProcess(socket.socket(fileno=int(arguments[0]))).serve():
        become(request)
    else:
        shutil.rmtree(templates, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
