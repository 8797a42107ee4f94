"""A place where playbooks run both ways: a collections path, an inventory, and ansible-playbook as a subprocess."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FIXTURE = Path(__file__).resolve().parent / "fixture"

HERE = "here"
"""The host whose tasks run in the controller process."""

OTHER_PYTHON = "other_python"
"""The same machine with an explicit other Python: shipped modules."""

ELSEWHERE = "elsewhere"
"""A connection that is not local: shipped modules."""

OF_THE_MOMENT = ("ansible_facts", "exception", "failed_when_suppressed_exception")
OF_THE_JOB = ("ansible_job_id", "invocation", "results_file")

Tasks = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Played:
    """The results of one run of ansible-playbook."""

    results: dict[str, dict[str, Any]]
    """By the task's name, with `status`."""
    stdout: str
    stderr: str
    code: int

    @property
    def output(self) -> str:
        """All that a person sees."""
        return self.stdout + self.stderr

    @property
    def lines(self) -> list[str]:
        """Progress lines."""
        return [line for line in self.stdout.splitlines() if re.match(r"\[(here|other_python|elsewhere)\] ", line)]


class PlaybookRunner:
    """Everything in one directory; nothing of the user's own settings comes in."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._count = 0
        make_collections(directory / "collections")
        python = directory / "python"
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        python.chmod(0o755)
        (directory / "inventory.yml").write_text(json.dumps(_inventory(python)), encoding="utf-8")
        (directory / "ansible.cfg").write_text("", encoding="utf-8")

    def play(
        self,
        tasks: Tasks,
        host: str = HERE,
        *,
        options: Sequence[str] = (),
        settings: Mapping[str, str] | None = None,
        **keywords: Any,
    ) -> Played:
        """Run the tasks on one host; every task runs, whatever the ones before it gave.

        `options` are of the command line, `settings` are environment variables of ansible-playbook, and `keywords` are
        those of the play.
        """
        self._count += 1
        play = {"hosts": host, "gather_facts": False, "ignore_errors": True, **keywords, "tasks": list(tasks)}
        playbook = self.directory / f"play-{self._count}.yml"
        playbook.write_text(json.dumps([play]), encoding="utf-8")
        record = self.directory / f"record-{self._count}.jsonl"
        done = subprocess.run(
            [*ansible_playbook(), "-i", str(self.directory / "inventory.yml"), *options, str(playbook)],
            cwd=self.directory,
            env={**self.environment(), "RECORD_FILE": str(record), **(settings or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if not record.exists():
            raise RuntimeError(f"ansible-playbook ran no task: {done.stdout}{done.stderr}")
        return Played(_recorded(record), done.stdout, done.stderr, done.returncode)

    def environment(self) -> dict[str, str]:
        """The environment of ansible-playbook."""
        return {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self.directory),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_CONFIG": str(self.directory / "ansible.cfg"),
            "ANSIBLE_COLLECTIONS_PATH": str(self.directory / "collections"),
            "ANSIBLE_CALLBACKS_ENABLED": "parity.fixture.record",
            "ANSIBLE_INJECT_INVOCATION": "1",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_RETRY_FILES_ENABLED": "0",
            "ANSIBLE_ASYNC_DIR": str(self.directory / "async"),
            "ANSIBLE_LOCAL_TEMP": str(self.directory / "temporary"),
            "ANSIBLE_REMOTE_TEMP": str(self.directory / "temporary"),
        }


def ansible_playbook() -> list[str]:
    """The command, by the Python that runs the tests."""
    return [sys.executable, "-m", "ansible", "playbook"]


def make_collections(path: Path) -> None:
    """Make a folder with the collection itself, and the fixture collection over the same base."""
    (path / "ansible_collections" / "stateful").mkdir(parents=True)
    (path / "ansible_collections" / "stateful" / "upgrade").symlink_to(ROOT)
    fixture = path / "ansible_collections" / "parity" / "fixture"
    (fixture / "plugins" / "module_utils").mkdir(parents=True)
    (fixture / "meta").symlink_to(FIXTURE / "meta")
    for kind in ("action", "callback", "connection", "modules"):
        (fixture / "plugins" / kind).symlink_to(FIXTURE / "plugins" / kind)
    (fixture / "plugins" / "plugin_utils").symlink_to(ROOT / "plugins" / "plugin_utils")
    utils = fixture / "plugins" / "module_utils"
    for room in (ROOT / "plugins" / "module_utils").iterdir():
        (utils / room.name).symlink_to(room)
    (utils / "every_feature.py").symlink_to(FIXTURE / "plugins" / "module_utils" / "every_feature.py")


def comparable(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result without what depends on the time, or on how the shipped module's Python was found."""
    kept = {name: value for name, value in result.items() if name not in OF_THE_MOMENT}
    if "ansible_job_id" in kept:  # asynchronous: the identity of the job is in all of these
        kept = {name: value for name, value in kept.items() if name not in OF_THE_JOB}
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "then", json.dumps(kept, sort_keys=True))
    text = re.sub(r"within \d+ s", "in time", text)
    same: dict[str, Any] = json.loads(re.sub(r'"seconds": \d+\.\d+', '"seconds": 0', text))  # of what was waited for
    return same


def _recorded(record: Path) -> dict[str, dict[str, Any]]:
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return {line["task"]: {**line["result"], "status": line["status"]} for line in lines}


def _inventory(python: Path) -> dict[str, Any]:
    here = {"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"}
    hosts = {
        HERE: here,
        OTHER_PYTHON: {**here, "ansible_python_interpreter": str(python)},
        ELSEWHERE: {**here, "ansible_connection": "parity.fixture.elsewhere"},
    }
    return {"all": {"hosts": hosts}}
