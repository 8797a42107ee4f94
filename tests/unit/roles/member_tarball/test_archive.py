"""The archive that the role `member_tarball` unpacks, on this machine."""

from __future__ import annotations

import getpass
import hashlib
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.playbook import Played
from tests.unit.roles.steps import step_of, take

VERSION = f"opensearch-{(TO := '3.8.0')}"
PROGRAM, LAST = "bin/opensearch", "lib/last.jar"
"""Files of the archive; the second one is the last."""


@dataclass(frozen=True)
class Server:
    """A host with a published archive, which is `folder`."""

    folder: Path
    environment: Mapping[str, str]

    @property
    def versions(self) -> Path:
        """The folder of the versions."""
        return self.folder / "versions"

    @property
    def link(self) -> Path:
        """The link to the present version."""
        return self.versions / "opensearch"

    def take(self, *steps: str) -> Played:
        """Take steps of the role."""
        return take(
            self.folder, self.environment, self._variables(), *(step_of("member_tarball", each) for each in steps)
        )

    def _variables(self) -> dict[str, Any]:
        archive = self.folder / "published.tar.gz"
        return {
            "target_version": TO,
            "member_tarball_directory": str(self.versions),
            "member_tarball_url": archive.as_uri(),
            "member_tarball_checksum": f"sha512:{hashlib.sha512(archive.read_bytes()).hexdigest()}",
            "member_tarball_owner": getpass.getuser(),
        }


@pytest.fixture
def server(tmp_path: Path, ansible_environment: Mapping[str, str]) -> Server:
    """A host without any version."""
    made = Server(tmp_path, ansible_environment)
    made.versions.mkdir()
    for name in (PROGRAM, LAST):
        path = tmp_path / VERSION / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    with tarfile.open(tmp_path / "published.tar.gz", "w:gz") as file:
        file.add(tmp_path / VERSION, VERSION)
    return made


def test_a_folder_in_place_of_the_link_is_refused_while_the_member_is_up(server: Server) -> None:
    server.link.mkdir()
    refused = server.take("prepare")
    assert refused.message.startswith(f"{server.link} is no link, so it cannot be made to lead to the new version. ")
    server.link.rmdir()
    server.link.symlink_to(server.versions / "opensearch-2.19.6")
    done = server.take("prepare", "install")
    assert done.code == 0, done.message
    assert (server.link / LAST).read_text() == LAST


def test_an_archive_is_unpacked_again_after_an_interruption_and_once_if_it_is_whole(server: Server) -> None:
    unpacked = server.versions / VERSION
    (unpacked / PROGRAM).parent.mkdir(parents=True)
    (unpacked / PROGRAM).write_text(PROGRAM)
    assert server.take("prepare").code == 0
    assert (unpacked / LAST).read_text() == LAST
    assert server.take("prepare").changed == {"h": 0}
