"""Real package managers and archives on machines: one worker has the programs by dnf, another one by an archive."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from tests.lab.machines.build import INSTALLED, NEXT
from tests.lab.machines.packages import program
from tests.lab.machines.rpms import FOLDER, index
from tests.scenarios.machines.upgrades import Upgrades, upgrading

BY_DNF, BY_ARCHIVE = "w-1", "w-2"
ARCHIVE = "kubernetes-node-linux.tar.gz"


@pytest.fixture
def upgrades(ansible_environment: Mapping[str, str]) -> Iterator[Upgrades]:
    """A cluster whose workers have their programs in different ways."""
    with upgrading(ansible_environment, ("cp-1", "cp-2"), (BY_DNF, BY_ARCHIVE), with_dnf=BY_DNF) as made:
        yield made


def make_archive(shared: Path) -> str:
    """An archive as Kubernetes hands it out, with its checksum next to it; gives its address for machines."""
    kubelet = program("kubelet.py").replace("/usr/lib/kubelet/version", f"/srv/{NEXT}.version")
    (shared / f"{NEXT}.version").write_text(f"{NEXT}\n", encoding="utf-8")
    (shared / "kubelet").write_text(kubelet, encoding="utf-8")
    (shared / "kubelet").chmod(0o755)
    path = shared / ARCHIVE
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name in ("kubeadm", "kubectl", "kubelet"):
            source = shared / "kubelet" if name == "kubelet" else shared / "programs" / NEXT
            archive.add(source, f"kubernetes/node/bin/{name}")
    path.with_name(f"{ARCHIVE}.sha256").write_text(f"{sha256(path.read_bytes()).hexdigest()}  {ARCHIVE}\n")
    return f"file:///srv/{ARCHIVE}"


@pytest.mark.soak
def test_machines_are_upgraded_by_dnf_and_by_an_archive(upgrades: Upgrades) -> None:
    cluster = upgrades.cluster
    by_dnf, shared = cluster.machines[BY_DNF], cluster.directory / "shared"
    cluster.of_hosts[BY_ARCHIVE] = {"member_kubeadm_url": make_archive(shared), "member_kubeadm_folder": "/usr/bin"}
    # Its checksum in the repository is right, so that only the signature is missing.
    (package,) = (shared / Path(FOLDER).name).glob(f"kubelet-{NEXT}*.rpm")
    signed = package.read_bytes()
    by_dnf.run("rpmsign", "--delsign", f"{FOLDER}/{package.name}")
    index(by_dnf)
    variables = upgrades.agreed()
    refused = upgrades.run(variables)
    assert refused.code != 0
    assert "cannot be fetched and proven, so w-1 was left alone" in refused.message
    assert "is not signed" in refused.message
    assert set(cluster.versions().values()) == {INSTALLED}

    package.write_bytes(signed)
    index(by_dnf)
    played = upgrades.run(variables)
    assert played.code == 0, played.message
    assert cluster.versions() == dict.fromkeys(cluster.machines, NEXT)
    for name in ("kubeadm", "kubectl", "kubelet"):
        assert by_dnf.run("rpm", "--query", name).startswith(f"{name}-{NEXT}-")
    assert cluster.machines[BY_ARCHIVE].run("kubeadm", "version", "-o", "short").strip() == f"v{NEXT}"
    again = upgrades.run(upgrades.variables())
    assert again.code == 0, again.message
    assert not any(again.changed[name] for name in cluster.machines)
