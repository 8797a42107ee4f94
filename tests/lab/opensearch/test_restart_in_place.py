"""Real members take a changed Secret when their process is restarted in the pod that they have. No control plane."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import connect
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.execution import (
    ContainerCommand,
    Ended,
    execute,
)

from tests.lab import process_namespace
from tests.lab.fixtures import lab_directory
from tests.lab.lab import Lab
from tests.lab.namespace import Namespace, fetch
from tests.lab.opensearch.homes import fetch_home
from tests.lab.opensearch.layouts import CONFIGURATION, OPENSEARCH, Layout, Pool
from tests.lab.waiting import until

VERSION = "3.8.0"
BOOT = 240.0
POOL = Pool("members", 1, ("cluster_manager", "data"))
POD = "opensearch-members-0"
MANAGER = """\
trap 'ending=yes; kill -TERM $!' TERM
while [ -z "$ending" ]; do
  cp {files}/$HOSTNAME /usr/share/opensearch/config/opensearch.yml
  {entry} & wait $!
done
"""
"""A first process that starts the server anew whenever it has ended."""
WHY_NOT = process_namespace.obstacle()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=f"containers have no process namespaces here: {WHY_NOT}")


class Member:
    """The only member of a cluster, with its settings in a Secret."""

    def __init__(self, lab: Lab, namespace: str, script: str = "") -> None:
        self._lab = lab
        self._layout = Layout(namespace, VERSION, (POOL,), lab.pod_address, configured=True)
        self.namespace = Namespace(lab, namespace)
        manifests = self._layout.manifests()
        if script:
            (container,) = manifests[-1]["spec"]["template"]["spec"]["containers"]
            container["command"] = ["sh", "-c", script]
        lab.apply(manifests)

    def until_ready(self, restarts: int = 0) -> Any:
        """Wait until the member is Ready after so many restarts of its container, and give its pod."""

        def ready(pod: Any) -> bool:
            statuses = pod.status.container_statuses
            return bool(statuses and statuses[0].ready and statuses[0].restart_count == restarts)

        return self.namespace.until_pod(POD, f"Ready after {restarts} restarts", ready, BOOT)

    def run(self, *words: str) -> Ended:
        """Run a command in its container."""
        client = connect({"kubeconfig": str(self._lab.kubeconfig())})
        return execute(client, ContainerCommand(self.namespace.name, POD, OPENSEARCH.name, words), BOOT)

    def configure(self, rank: str) -> None:
        """Change a setting, and wait until the new file is mounted."""
        changed = self._layout.configuration(POOL, **{"node.attr.rank": rank})
        self._lab.apply([changed])
        expected = hashlib.sha256(changed["stringData"][POD].encode()).hexdigest()
        path = f"{CONFIGURATION}/{POD}"
        until("the change's arrival", lambda: self.run("sha256sum", path).output.split()[0] == expected, BOOT)

    def rank(self) -> str | None:
        """The setting that its process has; None without one, while it does not answer, and while it is not in yet."""
        try:
            found = json.loads(fetch(f"http://{self._lab.pod_address(self.namespace.name, POD)}:9200/_nodes/_local"))
        except OSError:
            return None
        ranks: list[str | None] = [member["attributes"].get("rank") for member in found["nodes"].values()]
        return ranks[0] if ranks else None


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    fetch_home(VERSION)
    with Lab.up("in-place", lab_directory() / "lab", in_memory=True) as made:
        yield made


def test_a_member_takes_its_changed_configuration_in_the_pod_that_it_has(lab: Lab) -> None:
    member = Member(lab, "by-kubelet")
    before = member.until_ready()
    assert member.rank() is None
    member.configure("first")
    assert member.rank() is None, "the process has not read it"
    assert member.run("sh", "-c", "kill -TERM 1").code in {0, 137}
    after = member.until_ready(restarts=1)
    until("the new setting", lambda: member.rank() == "first", BOOT)
    assert (after.metadata.uid, after.status.pod_ip) == (before.metadata.uid, before.status.pod_ip)
    ended = after.status.container_statuses[0].last_state.terminated
    assert ended.exit_code == 143, "the server has ended in an orderly way"
    member.namespace.remove()


def test_a_process_manager_starts_a_member_again_in_its_container(lab: Lab) -> None:
    member = Member(lab, "by-manager", MANAGER.format(files=CONFIGURATION, entry=OPENSEARCH.entry))
    before = member.until_ready()
    member.configure("second")
    assert member.rank() is None
    member.run("sh", "-c", "kill -TERM $(cat /proc/1/task/1/children)")
    until("the new setting", lambda: member.rank() == "second", BOOT)
    after = member.until_ready(restarts=0)
    assert after.metadata.uid == before.metadata.uid
    member.namespace.remove()
