"""The packages of Kubernetes as apt finds them: kubeadm and kubectl are the real ones, and the kubelet a stand-in."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path

from tests.lab.machines.build import programs_of

REVISION = "1.1"
"""Debian's part of each version, as in the packages of the Kubernetes project."""
NAMES = ("kubeadm", "kubectl", "kubelet")
SOURCE = "deb [trusted=yes] file:/srv/repository ./\n"
UNIT = """\
[Unit]
Description=The stand-in of the kubelet
[Service]
ExecStart=/usr/bin/kubelet
Restart=always
RestartSec=1
[Install]
WantedBy=multi-user.target
"""


def package_version(version: str) -> str:
    """The version of the packages of a version of Kubernetes."""
    return f"{version}-{REVISION}"


def program(file: str) -> str:
    """A file next to this one as a program of a machine, whose Python is that of its Debian."""
    return "#!/usr/bin/python3\n" + Path(__file__).with_name(file).read_text(encoding="utf-8")


def make_repository(folder: Path, programs: Path, versions: Collection[str]) -> None:
    """Make a repository of all packages in these versions; the programs themselves are kept in a folder of /srv.

    Raises:
        LabError: the programs cannot be built.
    """
    folder.mkdir(parents=True)
    kubelet = program("kubelet.py")
    unit = "lib/systemd/system/kubelet.service"
    for version in versions:
        kept = programs / version
        kept.parent.mkdir(exist_ok=True)
        shutil.copyfile(programs_of(version).ensure_built(), kept)
        kept.chmod(0o755)
        for name in ("kubeadm", "kubectl"):
            _pack(folder, name, version, {}, f"/srv/{programs.name}/{version}")
        files = {"usr/bin/kubelet": kubelet, "usr/lib/kubelet/version": f"{version}\n", unit: UNIT}
        _pack(folder, "kubelet", version, files)
    index(folder)


def index(folder: Path) -> None:
    """Write the index of the packages that are there now."""
    command = ["dpkg-scanpackages", "--multiversion", "."]
    listed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    (folder / "Packages").write_text(listed, encoding="utf-8")


def _pack(folder: Path, name: str, version: str, files: Mapping[str, str], program: str = "") -> None:
    tree = folder / f"tree-{name}-{version}"
    control = (
        f"Package: {name}\nVersion: {package_version(version)}\nArchitecture: all\n"
        f"Maintainer: The lab <lab@example.com>\nDescription: {name} of the lab\n"
    )
    for path, content in {**files, "DEBIAN/control": control}.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(content, encoding="utf-8")
        (tree / path).chmod(0o755 if path.startswith("usr/bin/") else 0o644)
    if program:
        (tree / "usr/bin").mkdir(parents=True)
        (tree / "usr/bin" / name).symlink_to(program)
    package = folder / f"{name}_{package_version(version)}_all.deb"
    command = ["dpkg-deb", "-Znone", "--build", "--root-owner-group", str(tree), str(package)]
    subprocess.run(command, check=True, capture_output=True)
    shutil.rmtree(tree)
