"""The ready roles for plain hosts on a real systemd: with an archive, and with a real package of apt.

The software that they install starts a real OpenSearch server of the lab.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.lab.addresses import Range
from tests.lab.cache import cache_root
from tests.lab.fixtures import lab_directory
from tests.lab.opensearch.hosts import Host
from tests.lab.waiting import until
from tests.scenarios.hosts.cluster import BOOT, ROOT
from tests.scenarios.hosts.own_systemd import UNITS, OwnSystemd, own_systemd, why_not
from tests.scenarios.playbook import Played, command_of

FROM, TO = "2.19.6", "3.8.0"
GONE, UNPROVEN = "3.8.1", "3.8.2"
"""Versions of which apt knows a package, and that it cannot install."""
APT = "/usr/bin/python3"
"""The Python that has the bindings of apt, as on any host of Debian."""


@dataclass(frozen=True)
class Server:
    """One host with systemd and one member; `directory` holds all that is on it."""

    systemd: OwnSystemd
    directory: Path
    address: str
    environment: Mapping[str, str]

    def take(self, role: str, version: str, *steps: str, **variables: Any) -> Played:
        """The steps of a role, as the playbook takes them."""
        include = {"name": f"stateful.upgrade.{role}", "tasks_from": "{{ item }}"}
        step = {"ansible.builtin.include_role": include, "loop": list(steps)}
        content = [{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [step]}]
        playbook = self.directory / "playbook.yml"
        playbook.write_text(json.dumps(content), encoding="utf-8")
        command = self.systemd.inside(*command_of(str(playbook), {"target_version": version, **variables}))
        done = subprocess.run(command, env=dict(self.environment), check=False, capture_output=True, text=True)
        print(done.stdout, done.stderr)
        return Played(done.returncode, done.stdout)

    def ask(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """The member's answer."""
        data = json.dumps(body).encode() if body is not None else None
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://{self.address}:9200{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return json.loads(answer.read())

    def until_runs(self, version: str) -> None:
        """Wait until the member serves, and see that it runs that version."""

        def serves() -> Any:
            try:
                return self.ask("/")
            except OSError:
                return None

        assert until("the member to serve", serves, BOOT)["version"]["number"] == version

    def process(self) -> str:
        """The main process of the service, as systemd knows it; 0 where there is none."""
        return self.systemd.run("systemctl", "show", "--property=MainPID", "--value", "opensearch").strip()

    def program(self, version: str, place: Path) -> None:
        """Write the program that starts the member on that version, as `bin/opensearch` does, into `place`."""
        hosts = f"{sys.executable} -m tests.lab.opensearch.hosts"
        member = self.directory / "member"
        text = f"#!/bin/sh\ncd {ROOT} && {hosts} install {member} {version} && exec {hosts} run {member}\n"
        (place / "bin").mkdir(parents=True)
        (place / "bin/opensearch").write_text(text, encoding="utf-8")
        (place / "bin/opensearch").chmod(0o755)

    def unit(self, installation: Path | str) -> str:
        """The unit of the service."""
        return (
            "[Unit]\nDefaultDependencies=no\n[Service]\nSuccessExitStatus=143\n"
            f"Environment=STATEFUL_UPGRADE_CACHE={cache_root()}\nExecStart={installation}/bin/opensearch\n"
        )


@pytest.fixture
def server(ansible_environment: Mapping[str, str]) -> Iterator[Server]:
    """A host of Debian's kind with nothing on it yet."""
    if reason := why_not():
        pytest.skip(reason)
    directory, claimed = lab_directory(), Range.claim([9200, 9300])
    address = claimed.kubernetes_node(0)
    name = {"cluster.name": "roles", "cluster.initial_cluster_manager_nodes": "search-0"}
    Host.make(directory / "member", "search-0", address, name)
    try:
        with own_systemd(directory) as systemd:
            yield Server(systemd, directory, address, ansible_environment)
    finally:
        claimed.release()
        shutil.rmtree(directory, ignore_errors=True)


def is_upgraded(server: Server, role: str, of: Mapping[str, Mapping[str, Any]], *wrong: Mapping[str, Any]) -> None:
    """The whole way with one role; `of` are its variables by version, `prepare` fails with each of `wrong`."""
    assert server.take(role, FROM, "prepare", "install", "start", **of[FROM]).code == 0
    server.until_runs(FROM)
    server.ask("/kept/_doc/1?refresh=true", "PUT", {"text": "kept"})
    before = server.process()

    for each in wrong:
        refused = server.take(role, str(each["target_version"]), "prepare", **{**of[TO], **each})
        assert refused.code != 0, each
    assert server.take(role, TO, "prepare", **of[TO]).code == 0
    assert server.process() == before, "the member is up while the new version is prepared"

    assert server.take(role, TO, "prepare", "stop", "install", "start", **of[TO]).code == 0
    server.until_runs(TO)
    assert server.process() not in {before, "0"}
    server.ask("/_cluster/health/kept?wait_for_status=yellow&timeout=25s")
    assert server.ask("/kept/_doc/1")["_source"] == {"text": "kept"}

    again = server.take(role, TO, "prepare", "install", "start", **of[TO])
    assert again.code == 0
    assert again.changed == {"localhost": 0}
    assert server.take(role, TO, "stop", **of[TO]).code == 0
    assert server.process() == "0"


@pytest.mark.soak
def test_a_member_of_an_archive(server: Server) -> None:
    versions, published = server.directory / "versions", server.directory / "published"
    versions.mkdir()
    of: dict[str, dict[str, Any]] = {}
    for version in (FROM, TO):
        server.program(version, published / f"opensearch-{version}")
        archive = published / f"opensearch-{version}.tar.gz"
        with tarfile.open(archive, "w:gz") as file:
            file.add(published / f"opensearch-{version}", f"opensearch-{version}")
        of[version] = {
            "member_tarball_directory": str(versions),
            "member_tarball_url": archive.as_uri(),
            "member_tarball_checksum": f"sha512:{hashlib.sha512(archive.read_bytes()).hexdigest()}",
        }
    unit = published / "opensearch.service"
    unit.write_text(server.unit(versions / "opensearch"), encoding="utf-8")
    server.systemd.run("cp", str(unit), str(UNITS))
    is_upgraded(
        server, "member_tarball", of, {"target_version": "3.8.1", "member_tarball_checksum": f"sha256:{'0' * 64}"}
    )


def test_a_member_of_a_package(server: Server) -> None:
    if shutil.which("dpkg-deb") is None or not Path(APT).exists():
        pytest.skip("packages of apt need dpkg-deb")
    repository, installation = server.directory / "repository", Path("/run/lab-opensearch")
    repository.mkdir()
    insecure = server.directory / "insecure"
    insecure.mkdir()
    for version in (FROM, TO, GONE, UNPROVEN):
        tree = server.directory / f"package-{version}"
        server.program(version, tree / installation.relative_to("/"))
        for name, text in {
            UNITS.relative_to("/") / "opensearch.service": server.unit(installation),
            Path("DEBIAN/control"): control(version),
        }.items():
            (tree / name).parent.mkdir(parents=True)
            (tree / name).write_text(text, encoding="utf-8")
        package = (insecure if version == UNPROVEN else repository) / f"opensearch_{version}_all.deb"
        subprocess.run(["dpkg-deb", "--build", "--root-owner-group", tree, package], check=True, capture_output=True)
    for place in (repository, insecure):
        listed = [entry(path) for path in sorted(place.glob("*.deb"))]
        (place / "Packages").write_text("\n".join(listed), encoding="utf-8")
    (repository / f"opensearch_{GONE}_all.deb").unlink()
    sources = f"deb [trusted=yes] file:{repository} ./\ndeb [allow-insecure=yes] file:{insecure} ./"
    server.systemd.run("sh", "-c", f"echo '{sources}' > /etc/apt/sources.list && apt-get update")
    of = {version: {"ansible_python_interpreter": APT} for version in (FROM, TO)}
    # One that no repository has, one whose file is gone, and one that no signature proves.
    is_upgraded(server, "member_package", of, *({"target_version": each} for each in ("9.9.9", GONE, UNPROVEN)))


def control(version: str) -> str:
    """The control file of the package for dpkg."""
    return (
        f"Package: opensearch\nVersion: {version}\nArchitecture: all\nMaintainer: The lab <lab@example.com>\n"
        "Description: A server of the lab\n"
    )


def entry(package: Path) -> str:
    """The entry of the package for apt."""
    content = package.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    version = package.name.split("_")[1]
    return f"{control(version)}Filename: ./{package.name}\nSize: {len(content)}\nSHA256: {digest}\n"
