"""The images that the process kubelet runs: their contract, and the registry of those that exist."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from tests.lab.errors import LabError
from tests.lab.processes import User, pod_user


class ImageNotFound(Exception):
    """No image of this name exists: the kubelet reports ErrImagePull."""


@dataclass(frozen=True)
class ContainerContext:
    """All that an image may know of the container it is started for.

    `scratch` is a private writable directory (the container's own file system), emptied at every start of the
    container; `mounts` gives the host path for each mount path, because there is no mount namespace.
    """

    namespace: str
    pod: str
    container: str
    address: str
    scratch: Path
    mounts: Mapping[str, Path]
    env: Mapping[str, str]
    command: tuple[str, ...]
    args: tuple[str, ...]
    message: tuple[str, Path] | None = None
    """The path in the container at which it may leave its last words for the pod's status, and the host path."""
    read_only: bool = False
    """Whether the container may write its mounts alone (readOnlyRootFilesystem)."""


@dataclass(frozen=True)
class Launch:
    """The process to start."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    as_lab: bool = False
    """Whether it starts as the lab's own user and not as that of the pods, and then gives up its rights itself."""
    folders: Mapping[str, Path] = field(default_factory=dict)
    """Host path by path in the container, for the commands of users."""


class Image(Protocol):
    """Something that can be started as a container's process."""

    @property
    def folders(self) -> Mapping[str, Path]:
        """Host path by folder of the image, for the commands that a pod brings along."""

    def takes(self, command: Sequence[str]) -> bool:
        """Whether it handles this command of a pod itself."""

    def prepare(self, context: ContainerContext) -> Mapping[str, Path]:
        """Make the files of the image that differ from container to container; host path by path in the image."""

    def launch(self, context: ContainerContext) -> Launch:
        """Give the process; may write files into the scratch directory and the mounts."""


class WithoutFolders:
    """An image whose files no command of a pod looks for."""

    @property
    def folders(self) -> Mapping[str, Path]:
        return {}

    def takes(self, _command: Sequence[str]) -> bool:
        return False

    def prepare(self, _context: ContainerContext) -> Mapping[str, Path]:
        return {}


class TakesCommand(WithoutFolders):
    """An image that handles every command of the pod itself."""

    def takes(self, _command: Sequence[str]) -> bool:
        return True


def resolve(image: str) -> Image:
    """The image of this name. The registry's host and path are ignored: only `repository:tag` counts.

    Raises ImageNotFound for anything that is not in the lab's registry.
    """
    repository, _colon, tag = image.rsplit("/", 1)[-1].partition(":")
    if repository == "probe" and tag in ("1", "2"):
        return ProbeImage(tag)
    if repository == "busybox":
        return IdleImage()
    if repository == "stateful-upgrade-ee":
        from tests.lab.execution_environment import ExecutionEnvironment  # noqa: PLC0415

        return ExecutionEnvironment()
    if repository in {"longhorn-instance-manager", "longhorn-share-manager"}:
        return RestingImage()
    if repository == "opensearch":
        # Imported late: the kubelet's own tests need no OpenSearch.
        from tests.lab.opensearch.image import image as opensearch_image  # noqa: PLC0415

        return opensearch_image(tag)
    if repository == "elasticsearch":
        from tests.lab.elasticsearch.image import image as elasticsearch_image  # noqa: PLC0415

        return elasticsearch_image(tag)
    raise ImageNotFound(f"{image}: not found")


def launch(image: Image, context: ContainerContext) -> Launch:
    """The image's process, or the command with which the pod replaces it, its mounts under their host paths."""
    if context.command and not image.takes(context.command):
        folders = {**image.folders, **image.prepare(context), **paths_on_host(context)}
        words = found_on_host((*context.command, *context.args), folders)
        return Launch(words, {**context.env}, context.scratch, folders=folders)
    try:
        launched = image.launch(context)
    except LabError as error:
        # A server says so itself if it cannot read its configuration, and ends.
        return Launch(("sh", "-c", 'echo "$0" >&2; exit 1', str(error)), {**context.env}, context.scratch)
    return replace(launched, folders={**image.folders, **paths_on_host(context)})


def paths_on_host(context: ContainerContext) -> dict[str, Path]:
    """Host path by path in the container: of the folders that it mounts, and of the file for its last words."""
    return host_paths(context) | (dict([context.message]) if context.message else {})


def host_paths(context: ContainerContext) -> dict[str, Path]:
    """Folder by mount path, which ends in no slash. Single files are copied into a folder that stands for theirs."""
    folders = {mount.rstrip("/"): path for mount, path in context.mounts.items() if path.is_dir()}
    for mount, path in context.mounts.items():
        parent, name = mount.rsplit("/", 1)
        if path.is_file() and parent not in folders:
            folders[parent] = context.scratch / "mounted" / parent.strip("/")
        if path.is_file() and folders[parent].is_relative_to(context.scratch):
            folders[parent].mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folders[parent] / name)
    return folders


def found_on_host(words: Sequence[str], folders: Mapping[str, Path]) -> tuple[str, ...]:
    """The words of a command with every folder that the container mounts under its host path."""
    if not folders:
        return tuple(words)
    longest_first = sorted(folders, key=len, reverse=True)
    mounted = re.compile(rf"(?<![\w./-])({'|'.join(map(re.escape, longest_first))})(?![\w.-])")
    return tuple(mounted.sub(lambda match: str(folders[match.group(1)]), word) for word in words)


@dataclass(frozen=True)
class IdleImage(TakesCommand):
    """`busybox`, by which charts set owners of volumes and settings of the kernel: here all is as it should be."""

    def launch(self, context: ContainerContext) -> Launch:
        return Launch(("true",), {**context.env}, context.scratch)


@dataclass(frozen=True)
class RestingImage(WithoutFolders):
    """A part of Longhorn: its process only has to be there, because `tests.lab.longhorn` does its work."""

    def launch(self, context: ContainerContext) -> Launch:
        # The first process of a container ends by SIGTERM only if it says so.
        argv = ("sh", "-c", "trap 'exit 0' TERM; sleep infinity & wait")
        return Launch(argv, {**context.env}, context.scratch)


@dataclass(frozen=True)
class ProbeImage(WithoutFolders):
    """A tiny HTTP server (probe_server.py) on port 8080, for the lab's own tests."""

    version: str

    def launch(self, context: ContainerContext) -> Launch:
        server = context.scratch / "probe_server.py"
        shutil.copyfile(Path(__file__).with_name("probe_server.py"), server)
        mounts = {path: str(host) for path, host in context.mounts.items()}
        env = {**context.env, "PROBE_VERSION": self.version, "PROBE_MOUNTS": json.dumps(mounts)}
        argv = (_python(pod_user()), "-u", str(server), context.address, *context.args)
        return Launch(argv, env, context.scratch)


@lru_cache(maxsize=1)
def _python(user: User | None) -> str:
    """A Python that the pods' user may run: root's own may lie under /root."""
    candidates = [sys.executable, "/usr/bin/python3", shutil.which("python3", path=os.defpath) or ""]
    for candidate in filter(None, candidates):
        if user is None or _runs(candidate, user):
            return candidate
    raise LabError(
        f"The pods' user (uid {user.uid if user else os.geteuid()}) can run none of {candidates}; "
        f"install Python where every user can reach it."
    )


def _runs(python: str, user: User) -> bool:
    argv = [python, "-I", "-c", "import http.server"]
    try:
        result = subprocess.run(argv, user=user.uid, group=user.gid, extra_groups=[], capture_output=True, check=False)
    except OSError:
        return False
    return result.returncode == 0
