"""The command of a run: it "upgrades" a machine in memory, which has no kubelet, by its Kubernetes node.

    python -m tests.lab.cluster_api.upgrade FOLDER KUBERNETES_NODE VERSION

`FOLDER` has the `kubeconfig` of the workload cluster and gets the `journal`; with a file `refuse` there it refuses.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from kubernetes import config

from tests.lab.api import MERGE
from tests.lab.longhorn.requests import ask

TAKES = 2.0
"""Seconds that each machine takes."""


def main() -> int:
    """Do it; gives the exit code."""
    folder, node, version = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    _note(folder, "begins", node)
    try:
        time.sleep(TAKES)
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


def _note(folder: Path, what: str, node: str) -> None:
    with (folder / "journal").open("a", encoding="utf-8") as output:
        output.write(f"{what} {node} {time.time():.1f}\n")


if __name__ == "__main__":
    sys.exit(main())
