"""One member on its own, without Kubernetes: to prove a home, and to see which classes it loads."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.addresses import Range
from tests.lab.errors import LabError
from tests.lab.images import ContainerContext
from tests.lab.opensearch.image import image
from tests.lab.opensearch.locks import read_lock
from tests.lab.processes import pod_user, spawn
from tests.lab.waiting import until

BOOT_TIMEOUT = 240.0
POD = "trial-0"


@dataclass(frozen=True)
class Member:
    """A running member."""

    address: str
    process: subprocess.Popen[bytes]
    log: Path

    def ask(self, path: str, method: str = "GET", body: object = None) -> Any:
        """Gives the JSON answer to one request. Raises OSError where there is none."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.address}:9200{path}", data, method=method)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 - always http
            return json.load(response)

    def stop(self) -> int:
        """Asks the process to end, as a kubelet does, and gives its exit code."""
        self.process.terminate()
        return self.process.wait()

    def serves(self) -> bool:
        """Whether the member has its primaries, because it answers before it has. Raises LabError when it has ended."""
        if self.process.poll() is not None:
            last = " / ".join(self.log.read_text(errors="replace").splitlines()[-5:])
            raise LabError(f"The member ended with code {self.process.returncode}; its last words were: {last}")
        try:
            return bool(self.ask("/_cluster/health")["status"] != "red")
        except OSError:
            return False


@contextmanager
def trial_member(
    version: str, directory: Path, settings: Mapping[str, str] | None = None, mounts: Mapping[str, Path] | None = None
) -> Iterator[Member]:
    """Boots a member that serves its data to everyone, with its files in the directory, and ends it with the block.

    Raises:
        ImageNotFound: the version is not fetched.
        LabError: the member ends, or does not serve in time.
    """
    claimed = Range.claim([9200, 9300])
    scratch = directory / "scratch"
    scratch.mkdir()
    user = pod_user()
    if user is not None:
        os.chown(scratch, user.uid, user.gid)
    open_to_all = {"DISABLE_SECURITY_PLUGIN": "true"} if read_lock(version).secured else {}
    env = {**open_to_all, "cluster.name": "trial", "cluster.initial_cluster_manager_nodes": POD, **(settings or {})}
    context = ContainerContext("trial", POD, "opensearch", claimed.control_plane, scratch, mounts or {}, env, (), ())
    launch = image(version).launch(context)
    log = directory / "member.log"
    with log.open("wb") as output:
        process = spawn(launch.argv, launch.env, launch.cwd, output, user=user)
    member = Member(claimed.control_plane, process, log)
    try:
        until(f"the boot of OpenSearch {version}", member.serves, BOOT_TIMEOUT)
        yield member
    finally:
        process.kill()
        process.wait()
        claimed.release()
