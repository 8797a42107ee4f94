"""The command of a run: it "upgrades" a machine in memory, which has no kubelet, by its Kubernetes node.

    python -m tests.lab.cluster_api.upgrade FOLDER KUBERNETES_NODE VERSION

`FOLDER` has the `kubeconfig` of the workload cluster and gets the `journal`. With a file `wait` there it stays in the
middle of its work, and notes that, until there is a file `go-KUBERNETES_NODE`; with a file `refuse` it then refuses.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from kubernetes import config

from tests.lab.api import MERGE
from tests.lab.longhorn.requests import ask

TAKES, LOOKS = 2.0, 0.05
"""Seconds that each machine takes, and between two looks for a file."""


def main() -> int:
    """Do it; gives the exit code. Asked to end (SIGTERM), it notes its end as well."""
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    folder, node, version = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    _note(folder, "begins", node)
    try:
        time.sleep(TAKES)
        _wait(folder, node)
        if (folder / "refuse").exists():
            refused = {"kind": "refused", "reason": f"{node} has an unknown runtime."}
            Path(os.environ["MACHINE_TASK_RESULT"]).write_text(json.dumps(refused), encoding="utf-8")
            return 1
        with config.new_client_from_config(config_file=str(folder / "kubeconfig")) as api:
            status = {"status": {"nodeInfo": {"kubeletVersion": f"v{version}"}}}
            ask(api, "PATCH", f"/api/v1/nodes/{node}", status, MERGE)
    finally:
        _note(folder, "ends", node)
    return 0


def _wait(folder: Path, node: str) -> None:
    if (folder / "wait").exists():
        _note(folder, "waits", node)
    while (folder / "wait").exists() and not (folder / f"go-{node}").exists():
        time.sleep(LOOKS)


def _note(folder: Path, what: str, node: str) -> None:
    with (folder / "journal").open("a", encoding="utf-8") as output:
        output.write(f"{what} {node} {os.getpid()} {time.time():.2f}\n")


if __name__ == "__main__":
    sys.exit(main())
