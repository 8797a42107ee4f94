"""The image `stateful-upgrade-ee`: what `extensions/execution-environment` builds, made of the development environment.

It has ansible-core, this checkout as the collection, and the packages that the collection needs. Its user is 1000 of
group 0, its home is /runner, and its processes may write nothing but their mounts if the pod says so.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.checks.tree import linked_project
from tests.lab.images import ContainerContext, Launch, TakesCommand, found_on_host, paths_on_host
from tests.lab.root_file_system import ACCOUNT, RootFileSystem

USER, HOME, TEMPORARY = 1000, "/runner", "/tmp"  # noqa: S108 - of the container
OTHERS_WRITE = 0o002


@dataclass(frozen=True)
class ExecutionEnvironment(TakesCommand):
    """It runs the arguments that the pod gives. Its own command only prepares a home and passes signals on."""

    def launch(self, context: ContainerContext) -> Launch:
        """Gives the process in a file system of its own, without rights over this machine."""
        paths = paths_on_host(context)
        asked = dict(zip(context.env, found_on_host(tuple(context.env.values()), paths), strict=True))
        environment = {
            "HOME": str(paths.get(HOME, context.scratch)),
            "TMPDIR": str(paths.get(TEMPORARY, context.scratch)),
            **asked,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}",
            "ANSIBLE_COLLECTIONS_PATH": str(linked_project()),
        }
        folders = [path for path in context.mounts.values() if path.stat().st_mode & OTHERS_WRITE]
        if not context.read_only:
            os.chown(context.scratch, os.geteuid(), os.getegid())
        if context.message:
            folders.append(context.message[1])
        account = context.mounts.get(ACCOUNT)
        root = RootFileSystem(
            USER, context.read_only, tuple(str(path) for path in folders), str(account) if account else ""
        )
        words = found_on_host((*context.command, *context.args), paths)
        return Launch(root.around(words), environment, context.scratch, as_lab=True)
