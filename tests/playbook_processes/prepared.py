"""A process that has imported ansible-playbook, and is forked for each run of it.

`python -m tests.playbook_processes.prepared <descriptor>` gets one message for each run over a socket with that
descriptor, together with three open files: the request (`Request` as JSON), the output, and a socket. The new process
writes its number to that, and this one its exit code later. It ends after its last run, once no one can ask it for
more.

The settings of Ansible are read at its import, so one such process serves all runs whose variables of Ansible and
Python are the same.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import sys
import tempfile
import warnings
from pathlib import Path

from ansible import constants
from ansible.plugins.loader import (
    action_loader,
    filter_loader,
    init_plugin_loader,
    inventory_loader,
    lookup_loader,
    test_loader,
)
from ansible.utils.path import cleanup_tmp_file

from tests.playbook_processes.process import FILES, Request

NEEDED = (
    "ansible.cli.playbook",
    "ansible.executor.task_queue_manager",
    "ansible.plugins.callback.default",
    "ansible.plugins.connection.local",
    "ansible.plugins.strategy.linear",
    "kubernetes",
)
"""All that takes long, and is the same in each run."""

INVENTORIES = ("host_list", "script", "auto", "yaml", "ini", "toml")
"""Plugins that Ansible asks about each inventory."""

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"


class Prepared:
    """The runs that were forked and have not ended: number → the socket that waits for its exit code."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._running: dict[int, socket.socket] = {}

    def serve(self) -> Request | None:
        """Fork for each message. A request is returned in the new process, None in this one once no more can come."""
        woken, wakes = socket.socketpair()
        wakes.setblocking(False)
        signal.set_wakeup_fd(wakes.fileno())
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.signal(signal.SIGINT, lambda _number, _frame: None)
        watched = [woken, self._channel]
        while self._channel in watched or self._running:
            ready = select.select(watched, [], [])[0]
            if woken in ready:
                woken.recv(4096)
                self._tell_ends()
            if self._channel in ready:
                message, files = socket.recv_fds(self._channel, 1, FILES)[:2]
                if not message:
                    watched.remove(self._channel)
                elif request := self._forked(*files):
                    signal.set_wakeup_fd(-1)
                    return request
        return None

    def _forked(self, asked: int, output: int, status: int) -> Request | None:
        if pid := os.fork():
            self._running[pid] = socket.socket(fileno=status)
            os.close(asked)
            os.close(output)
            return None
        for each in (self._channel, *self._running.values()):
            each.close()
        with open(asked, encoding="utf-8") as file:
            request = Request(**json.load(file))
        if request.own_session:
            os.setsid()
        with socket.socket(fileno=status) as waits:
            waits.sendall(f"{os.getpid()}\n".encode())
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        return request

    def _tell_ends(self) -> None:
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            # The test may have ended before its run.
            with self._running.pop(pid) as waits, contextlib.suppress(OSError):
                waits.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def become(request: Request) -> None:
    """Run the program of the request in this new process, with its environment, in its folder."""
    for number in (signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request.environment)
    os.chdir(request.folder)
    _own_folder_for_files()
    sys.argv = list(request.argv)
    sys.path[0] = str(Path(request.argv[0]).parent)
    runpy.run_path(request.argv[0], run_name="__main__")


def _own_folder_for_files() -> None:
    """Ansible makes the folder for its files at its import, and removes it at the end of the process."""
    atexit.unregister(cleanup_tmp_file)
    folder = str(Path(constants.DEFAULT_LOCAL_TMP).parent)
    constants.DEFAULT_LOCAL_TMP = tempfile.mkdtemp(prefix=f"ansible-local-{os.getpid()}", dir=folder)
    atexit.register(cleanup_tmp_file, constants.DEFAULT_LOCAL_TMP, warn=True)


def _load_the_collection() -> None:
    """The importer of collections compiles sources at each import, for a third of a second of a core."""
    init_plugin_loader()
    warnings.filterwarnings("ignore", "AnsibleCollectionFinder has already been configured")
    for loader, folder in ((action_loader, "action"), (lookup_loader, "lookup")):
        for path in sorted((PLUGINS / folder).glob("*.py")):
            loader.get(f"stateful.upgrade.{path.stem}", class_only=True)
    for name in INVENTORIES:
        inventory_loader.get(name, class_only=True)
    # Each worker would look for the filters and tests of Ansible anew.
    for loader, name in ((filter_loader, "default"), (test_loader, "defined")):
        loader.get(name)


def main() -> None:
    """Import, and fork for each request."""
    for name in NEEDED:
        # A package may be missing, which the run is to say.
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    _load_the_collection()
    gc.collect()
    gc.freeze()  # or each process would copy all of the memory once it collects
    templates = Path(tempfile.mkdtemp(prefix="templates-"))
    of_fleet = "ansible_collections.stateful.upgrade.plugins.module_utils.fleet.compiled_templates"
    importlib.import_module(of_fleet).keep_compiled_templates(templates)
    prepared = Prepared(socket.socket(fileno=int(sys.argv[1])))
    if request := prepared.serve():
        become(request)
    else:
        shutil.rmtree(templates)


if __name__ == "__main__":
    main()
