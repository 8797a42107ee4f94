"""The stand-in of an agent that writes images, on a machine of the lab: the packages of a version are its image.

`osagent submit` starts an operation once, `osagent status` says how far it is, and `osagent work` carries it out, also
after the restart in its middle. The restart and the scripts are real.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path("/var/lib/osagent")
STATE, IMAGE, BOOTS = FOLDER / "state.json", FOLDER / "image", FOLDER / "boots"
Json = dict[str, Any]


def main(command: str) -> int:
    """The exit code."""
    FOLDER.mkdir(exist_ok=True)
    state: Json = json.loads(STATE.read_text()) if STATE.exists() else {}
    if command == "submit":
        return submit(state, json.load(sys.stdin))
    if command == "work":
        return work(state)
    image = IMAGE.read_text() if IMAGE.exists() else ""
    told = {name: state[name] for name in ("operation", "state", "failureReason", "failureMessage") if name in state}
    print(json.dumps({**told, "image": image}))
    return 0


def submit(state: Json, document: Json) -> int:
    """Start an operation, unless it was started before."""
    if state.get("state") == "Running":
        return int(state["operation"] != document["operation"])
    if state.get("operation") != document["operation"]:
        keep({"operation": document["operation"], "state": "Running", "document": document, "activated": False})
        subprocess.run(["systemd-run", "--quiet", "--collect", "/usr/bin/osagent", "work"], check=True)
    return 0


def work(state: Json) -> int:
    """Carry out the operation that is under way, if there is one."""
    if state.get("state") != "Running":
        return 0
    document = state["document"]
    try:
        if document["activate"] and not state["activated"]:
            install(document, "kubeadm", "kubectl", "kubelet")
            IMAGE.write_text(document["image"]["sha256"])
            keep({**state, "activated": True})
            with BOOTS.open("a") as boots:
                boots.write("x")
            run("systemctl", "reboot")
            return 0
        if not document["activate"]:
            install(document, "kubeadm")
        for line in document["script"]:
            run(*line.split())
    except subprocess.CalledProcessError as error:
        keep({**state, "state": "Failed", "failureReason": "Command", "failureMessage": str(error.stderr)[-300:]})
        return 1
    keep({**state, "state": "Succeeded"})
    return 0


def install(document: Json, *names: str) -> None:
    """Install packages in the version of the image. They stay held."""
    version = document["kubernetesVersion"].removeprefix("v")
    run("apt-get", "update")
    run("apt-get", "install", "-y", "--allow-change-held-packages", *(f"{name}={version}-*" for name in names))
    run("apt-mark", "hold", *names)


def run(*command: str) -> None:
    """A command to its end. Raises CalledProcessError."""
    subprocess.run(command, check=True, capture_output=True, text=True)


def keep(state: Json) -> None:
    """Write the state at once as a whole."""
    new = STATE.with_suffix(".new")
    new.write_text(json.dumps(state))
    new.rename(STATE)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
