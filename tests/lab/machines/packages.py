"""The packages of Kubernetes as apt finds them: the real kubeadm, and stand-ins of the kubelet and of kubectl."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.lab.machines.build import kubeadm_of

REVISION = "1.1"
"""Debian's part of each version, as in the packages of the Kubernetes project."""
NAMES = ("kubeadm", "kubectl", "kubelet")
SOURCE = "deb [trusted=yes] file:/srv/repository ./\n"
_KUBECTL = """\
#!/bin/sh
[ "$1" = version ] || { echo "the stand-in of kubectl knows its version only" >&2; exit 1; }
case "$*" in
  *json*) echo '{"clientVersion": {"gitVersion": "v%(version)s"}}' ;;
  *) echo "Client Version: v%(version)s" ;;
esac
"""
_UNIT = """\
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


def make_repository(folder: Path, versions: Sequence[str]) -> None:
    """Make a repository of all packages in these versions. Raises LabError."""
    folder.mkdir(parents=True)
    for version in versions:
        _pack(folder, "kubeadm", version, {}, kubeadm_of(version).ensure_built())
        _pack(folder, "kubectl", version, {"usr/bin/kubectl": _KUBECTL % {"version": version}})
        kubelet = Path(__file__).with_name("kubelet.py").read_text(encoding="utf-8")
        unit = "lib/systemd/system/kubelet.service"
        files = {"usr/bin/kubelet": kubelet, "usr/lib/kubelet/version": f"{version}\n", unit: _UNIT}
        _pack(folder, "kubelet", version, files)
    index(folder)


def index(folder: Path) -> None:
    """Write the index of the packages that are there now."""
    command = ["dpkg-scanpackages", "--multiversion", "."]
    listed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    (folder / "Packages").write_text(listed, encoding="utf-8")


def _pack(folder: Path, name: str, version: str, files: Mapping[str, str], program: Path | None = None) -> None:
    tree = folder / f"tree-{name}-{version}"
    control = (
        f"Package: {name}\nVersion: {package_version(version)}\nArchitecture: all\n"
        f"Maintainer: The lab <lab@example.com>\nDescription: {name} of the lab\n"
    )
    for path, content in {**files, "DEBIAN/control": control}.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(content, encoding="utf-8")
        (tree / path).chmod(0o755 if path.startswith("usr/bin/") else 0o644)
    if program is not None:
        (tree / "usr/bin").mkdir(parents=True)
        shutil.copyfile(program, tree / "usr/bin" / name)
        (tree / "usr/bin" / name).chmod(0o755)
    package = folder / f"{name}_{package_version(version)}_all.deb"
    # The program is large, and no machine is far away.
    command = ["dpkg-deb", "-Znone", "--build", "--root-owner-group", str(tree), str(package)]
    subprocess.run(command, check=True, capture_output=True)
    shutil.rmtree(tree)
