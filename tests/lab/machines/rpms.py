"""The packages of Kubernetes as dnf finds them, signed, on a machine with dnf in place of apt."""

from __future__ import annotations

from collections.abc import Collection

from tests.lab.machines.machine import Machine
from tests.lab.machines.packages import NAMES, REVISION, UNIT, program

PACKAGES = ("createrepo-c", "dnf", "gpg", "gpg-agent", "rpm")
"""What such a machine has in addition. Debian has all of it."""
FOLDER, KEY = "/srv/rpms", "/srv/rpms/key.asc"
_OWNER = "lab@example.com"
_REPOSITORY = f"""\
[kubernetes]
name=Kubernetes
baseurl=file://{FOLDER}
enabled=1
gpgcheck=1
gpgkey=file://{KEY}
exclude=kubelet kubeadm kubectl
"""
_SPEC = """\
Name: {name}
Version: {version}
Release: {revision}
Summary: {name} of the lab
License: none
BuildArch: noarch
AutoReqProv: no
%description
{name} of the lab
%install
cp -a {place}/tree/. %{{buildroot}}
%files
/usr/bin/{name}
{more}
"""
_BUILDING = "/srv/building"
_BUILD = f"rpmbuild -bb --quiet --define '_topdir {_BUILDING}' --define '__os_install_post %{{nil}}' it.spec"
_RELEASE = 'NAME="Fedora Linux"\nID=fedora\nVERSION_ID=36\nPRETTY_NAME="Fedora Linux 36"\n'
"""Ansible names the package manager by the distribution, and Debian's rpm installs nothing on a Debian."""


def make_rpms(machine: Machine, versions: Collection[str]) -> None:
    """Have the machine build and sign the packages of these versions, for all machines. Raises LabError."""
    key = "%no-protection\nKey-Type: RSA\nKey-Length: 3072\nName-Email: lab@example.com\nExpire-Date: 0\n%commit\n"
    machine.run("gpg", "--batch", "--quiet", "--generate-key", given=key)
    unit = f"cat > tree/lib/systemd/system/kubelet.service <<'END'\n{UNIT}END"
    for version in versions:
        for name in ("kubeadm", "kubectl"):
            _build(machine, name, version, f"ln -s /srv/programs/{version} tree/usr/bin/{name}")
        fill = (
            f"cat > tree/usr/bin/kubelet\nchmod 755 tree/usr/bin/kubelet\necho {version} > tree/usr/lib/kubelet/version"
        )
        _build(machine, "kubelet", version, f"{fill}\n{unit}", "/usr/lib/kubelet/version\n/lib/systemd/system/*")
    machine.run("sh", "-c", f"mkdir -p {FOLDER} && cp {_BUILDING}/RPMS/noarch/*.rpm {FOLDER}")
    sign = f"rpmsign --define '_gpg_name {_OWNER}' --define '__gpg /usr/bin/gpg' --addsign {FOLDER}/*.rpm"
    machine.run("sh", "-c", f"{sign} && gpg --armor --export {_OWNER} > {KEY}")
    index(machine)


def index(machine: Machine) -> None:
    """Have the machine write the index of the packages that are there now. Raises LabError."""
    machine.run("createrepo_c", "--quiet", FOLDER)
    machine.run("dnf", "--quiet", "clean", "all")


def _build(machine: Machine, name: str, version: str, fill: str, more: str = "") -> None:
    """Build a package of what `fill`, which gets the program of the kubelet, has put into the folder `tree`."""
    folders = " ".join(f"{_BUILDING}/tree/{each}" for each in ("usr/bin", "usr/lib/kubelet", "lib/systemd/system"))
    spec = _SPEC.format(name=name, version=version, revision=REVISION, place=_BUILDING, more=more)
    machine.run("sh", "-ec", f"rm -rf {_BUILDING}/tree; mkdir -p {folders}; cat > {_BUILDING}/it.spec", given=spec)
    machine.run("sh", "-ec", f"cd {_BUILDING}\n{fill}\n{_BUILD}", given=program("kubelet.py"))


def install_by_dnf(machine: Machine, version: str) -> None:
    """Install all packages of a version, and take apt away. Raises LabError."""
    machine.run("sh", "-c", "rm /etc/debian_version /etc/os-release; cat > /etc/os-release", given=_RELEASE)
    machine.run("sh", "-c", "cat > /etc/redhat-release", given="Fedora release 36 (Thirty Six)\n")
    machine.run("sh", "-c", "mkdir -p /etc/yum.repos.d; cat > /etc/yum.repos.d/kubernetes.repo", given=_REPOSITORY)
    wanted = [f"{name}-{version}" for name in NAMES]
    machine.run("dnf", "--quiet", "--assumeyes", "--setopt=disable_excludes=kubernetes", "install", *wanted)
    machine.run("rm", "/usr/bin/apt-get", "/usr/bin/apt")
