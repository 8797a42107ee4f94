"""The members of a cluster as an inventory."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.cluster import Cluster
from tests.scenarios.preconditions import POOL, index

pytestmark = pytest.mark.own_process


def shown(file: Path, environment: Mapping[str, str], how: str) -> subprocess.CompletedProcess[str]:
    """The inventory, as ansible-inventory shows it."""
    command = ["ansible-inventory", "-i", str(file), how]
    given = {**environment, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true"}
    return subprocess.run(command, env=given, check=False, capture_output=True, text=True, timeout=120)


def written(folder: Path, **options: Any) -> Path:
    """The file of an inventory."""
    file = folder / "search.members.yml"
    file.write_text(json.dumps({"plugin": "stateful.upgrade.members", **options}))
    return file


def connections(cluster: Cluster) -> dict[str, Any]:
    """The options that name the servers."""
    variables = cluster.variables("3.8.0")
    return {name: variables[f"upgrade_{name}"] for name in ("opensearch", "kubernetes", "namespace")}


def test_members_are_hosts_of_their_pool_their_roles_and_their_zone(
    standing: Cluster, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    by_version = {"keyed_groups": [{"key": "member_version", "prefix": "version"}]}
    with index(standing, "logs", shards=3, replicas=0):
        listed = shown(written(tmp_path, **connections(standing), **by_version), ansible_environment, "--list")
    assert listed.returncode == 0, listed.stderr
    # ansible-core marks texts that come from elsewhere, which are no templates.
    found = json.loads(listed.stdout, object_hook=lambda each: each.get("__ansible_unsafe", each))
    members = [f"{POOL}-{ordinal}" for ordinal in range(3)]
    pool = POOL.replace("-", "_")
    assert found["opensearch"] == {"children": [pool]}
    assert [sorted(found[name]["hosts"]) for name in (pool, "role_data", "version_2_19_6")] == [members] * 3
    assert found["elected"]["hosts"] == [standing.elected()]
    of_member = found["_meta"]["hostvars"][members[0]]
    assert (of_member["member_pool"], of_member["member_version"]) == (POOL, "2.19.6")
    assert of_member["member_kubernetes_node"]
    assert sum(found["_meta"]["hostvars"][name]["member_shards"] for name in members) >= 3
    assert len([name for name in found if name.startswith("zone_")]) == 3


def test_without_a_namespace_kubernetes_is_not_asked(
    standing: Cluster, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    file = written(tmp_path, opensearch=connections(standing)["opensearch"], kubernetes={"host": "http://127.0.0.1:1"})
    graph = shown(file, ansible_environment, "--graph")
    assert graph.returncode == 0, graph.stderr
    assert f"|  |--{POOL}-0" in graph.stdout


def test_servers_that_do_not_answer_are_one_sentence(ansible_environment: Mapping[str, str], tmp_path: Path) -> None:
    secret = "not-to-be-seen"
    away = written(tmp_path, opensearch={"hosts": ["http://127.0.0.1:1"], "username": "ops", "password": secret})
    said = shown(away, ansible_environment, "--list")
    assert said.returncode != 0
    assert "The search cluster at http://127.0.0.1:1 cannot be reached" in said.stderr
    assert "127.0.0.1:1" in said.stderr
    assert secret not in said.stderr + said.stdout
    assert "Traceback" not in said.stderr

    wrong = written(tmp_path, opensearch={"host": "http://127.0.0.1:1"})
    said = shown(wrong, ansible_environment, "--list")
    assert said.returncode != 0
    assert "Unsupported parameters" in " ".join(said.stderr.split())

    misspelt = written(tmp_path, opensearch={"hosts": ["http://127.0.0.1:1"]}, namespce="search")
    said = shown(misspelt, ansible_environment, "--list")
    assert said.returncode != 0
    assert "namespce is not an option: did you mean namespace?" in " ".join(said.stderr.split())
