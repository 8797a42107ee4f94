"""Members below the restart agent: the parts of docs/examples/restart-agent.yml, added to the manifests of a layout."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.lab.certificates import Authority
from tests.lab.opensearch.layouts import CONFIGURATION

Manifest = dict[str, Any]
PROGRAMS = Path(__file__).resolve().parents[3] / "roles/restart/files"
PORT = 9443
TOKEN = "a-token-that-is-long-enough"
NAME = "agents.example.com"
"""The name in the certificate that all agents have."""
_MOUNTED = "/mounted/agent"


def interpreter(directory: Path) -> Path:
    """A Python that needs nothing around it, as an init container would bring it: this one, in a folder of its own.

    Containers of the lab have no rights in the home of the user who runs the tests, where this one may be.
    """
    library = Path(sysconfig.get_path("stdlib"))
    unneeded = shutil.ignore_patterns("site-packages", "dist-packages", "test", "idlelib", "tkinter", "__pycache__")
    shutil.copytree(library, directory / "lib" / library.name, ignore=unneeded)
    found = directory / "bin" / library.name
    found.parent.mkdir()
    shutil.copy(os.path.realpath(sys.executable), found)
    shared = Path(str(sysconfig.get_config_var("LIBDIR")), str(sysconfig.get_config_var("INSTSONAME")))
    if sysconfig.get_config_var("Py_ENABLE_SHARED") and shared.exists():
        shutil.copy(shared, directory / "lib")
    return found


def with_agents(manifests: Iterable[Manifest], authority: Authority, python: Path) -> list[Manifest]:
    """The manifests of a configured layout, with an agent as the first process of each member."""
    found = list(manifests)
    metadata = {"namespace": found[0]["metadata"]["name"]}
    identity = authority.issue("agent", names=[NAME])
    files = {path.name: path.read_text(encoding="utf-8") for path in PROGRAMS.glob("*.py")}
    tls = {"tls.crt": identity.certificate.decode(), "tls.key": identity.key.decode()}
    parts: list[Manifest] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata, "name": "agent-program"}, "data": files},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {**metadata, "name": "agent-tls"}, "stringData": tls},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {**metadata, "name": "agent-token"},
            "stringData": {"token": f"{TOKEN}\n"},
        },
    ]
    for each in found:
        if each["kind"] == "StatefulSet":
            _add(each["spec"]["template"]["spec"], python)
    return [found[0], *parts, *found[1:]]


def _add(spec: Manifest, python: Path) -> None:
    (container,) = spec["containers"]
    agent = [
        "env",
        f"LD_LIBRARY_PATH={python.parents[1] / 'lib'}",
        str(python),
        f"{_MOUNTED}/program/process_agent.py",
        f"--config={CONFIGURATION}/$(POD_NAME)",
        f"--listen=$(POD_ADDRESS):{PORT}",
        f"--certificate={_MOUNTED}/tls/tls.crt",
        f"--key={_MOUNTED}/tls/tls.key",
        f"--token-file={_MOUNTED}/token/token",
        f"--state-directory={_MOUNTED}/state",
        "--",
    ]
    container["command"] = [*agent, *container["command"]]
    for name, path in (("POD_NAME", "metadata.name"), ("POD_ADDRESS", "status.podIP")):
        container["env"].append({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
    volumes: Manifest = {
        "program": {"configMap": {"name": "agent-program"}},
        "tls": {"secret": {"secretName": "agent-tls"}},
        "token": {"secret": {"secretName": "agent-token"}},
        "state": {"emptyDir": {}},
    }
    for name, volume in volumes.items():
        container["volumeMounts"].append({"name": f"agent-{name}", "mountPath": f"{_MOUNTED}/{name}"})
        spec["volumes"].append({"name": f"agent-{name}", **volume})
