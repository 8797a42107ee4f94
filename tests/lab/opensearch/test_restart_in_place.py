# SPDX-License-Identifier: GPL-3.0-or-later
"""A real member takes a changed Secret when its process is restarted in the pod that it has. No control plane."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import connect
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.execution import Command, Ended, execute

from tests.lab import process_namespace
from tests.lab.fixtures import lab_directory
from tests.lab.lab import Lab
from tests.lab.namespace import Namespace, fetch
from tests.lab.opensearch.homes import fetch_home
from tests.lab.opensearch.layouts import CONFIGURATION, Layout, Pool
from tests.lab.waiting import until

VERSION = "3.8.0"
BOOT = 240.0
POOL = Pool("members", 1, ("cluster_manager", "data"))
POD = "opensearch-members-0"
WHY_NOT = process_namespace.obstacle()


@pytest.mark.skipif(bool(WHY_NOT), reason=f"containers have no process namespaces here: {WHY_NOT}")
def test_a_member_takes_its_changed_configuration_in_the_pod_that_it_has() -> None:
    fetch_home(VERSION)
    with Lab.up("in-place", lab_directory() / "lab", in_memory=True) as lab:
        layout = Layout("search", VERSION, (POOL,), lab.pod_address, configured=True)
        namespace = Namespace(lab, layout.namespace)
        lab.apply(layout.manifests())
        before = namespace.until_pod(POD, "Ready", _ready, BOOT)
        assert _rank(lab) is None

        changed = layout.configuration(POOL, **{"node.attr.rank": "first"})
        lab.apply([changed])
        expected = hashlib.sha256(changed["stringData"][POD].encode()).hexdigest()
        path = f"{CONFIGURATION}/{POD}"
        until("the change's arrival", lambda: _run(lab, "sha256sum", path).output.split()[0] == expected, BOOT)
        assert _rank(lab) is None, "the process has not read it"
        assert _run(lab, "sh", "-c", "kill -TERM 1").code in {0, 137}

        after = namespace.until_pod(POD, "a restart", lambda pod: _restarts(pod) == 1 and _ready(pod), BOOT)
        assert _rank(lab) == "first"
        assert (after.metadata.uid, after.status.pod_ip) == (before.metadata.uid, before.status.pod_ip)
        ended = after.status.container_statuses[0].last_state.terminated
        assert ended.exit_code == 143, "the server has ended in an orderly way"
        namespace.remove()


def _run(lab: Lab, *words: str) -> Ended:
    client = connect({"kubeconfig": str(lab.kubeconfig())})
    return execute(client, Command("search", POD, "opensearch", words), BOOT)


def _rank(lab: Lab) -> str | None:
    found = json.loads(fetch(f"http://{lab.pod_address('search', POD)}:9200/_nodes/_local"))
    (member,) = found["nodes"].values()
    rank: str | None = member["attributes"].get("rank")
    return rank


def _restarts(pod: Any) -> int:
    return int(pod.status.container_statuses[0].restart_count)


def _ready(pod: Any) -> bool:
    return bool(pod.status.container_statuses and pod.status.container_statuses[0].ready)
