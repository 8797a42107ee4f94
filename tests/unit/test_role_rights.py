"""The Role that users are given, against the rights that the modules ask for."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.rights import DRAIN
from ansible_collections.stateful.upgrade.plugins.module_utils.extra_machines import rights as extra_machines
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.rights import PORT_FORWARD, Right
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn import rights as longhorn
from ansible_collections.stateful.upgrade.plugins.module_utils.machines import rights as machines
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.rights import OPTIONAL, ROLE
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift import rights as openshift
from ansible_collections.stateful.upgrade.plugins.module_utils.restart import rights as restart

NEVER_ASKED_FOR = (*openshift.OPTIONAL, *machines.SYSTEM)
ROLES = Path(__file__).resolve().parents[2] / "roles"


@pytest.mark.parametrize(
    ("file", "kind", "rights"),
    [
        ("opensearch/files/role.yml", "Role", (*ROLE, *PORT_FORWARD)),
        ("opensearch/files/optional_role.yml", "Role", OPTIONAL),
        ("opensearch/files/emptying_role.yml", "ClusterRole", DRAIN),
        ("longhorn/files/role.yml", "Role", longhorn.ROLE),
        ("longhorn/files/cluster_role.yml", "ClusterRole", longhorn.CLUSTER_ROLE),
        ("openshift/files/role.yml", "Role", (*openshift.ROLE, *openshift.REQUEST)),
        (
            "openshift/files/cluster_role.yml",
            "ClusterRole",
            (*openshift.CLUSTER_ROLE, *openshift.OPTIONAL, *openshift.FEDRAMP),
        ),
        ("openshift/files/spare_workers_role.yml", "Role", openshift.SPARE_WORKERS),
        ("openshift/files/forced_drains_role.yml", "Role", openshift.FORCED_DRAINS),
        ("steps/files/machines_role.yml", "Role", (*extra_machines.ROLE, *extra_machines.OPTIONAL)),
        ("machines/files/role.yml", "Role", (*machines.ROLE, *machines.REQUEST, *machines.DELEGATED)),
        ("machines/files/system_role.yml", "Role", machines.SYSTEM),
        ("machines/files/management_role.yml", "Role", (*machines.MANAGEMENT, *machines.MANAGEMENT_REQUEST)),
        ("machines/files/cluster_role.yml", "ClusterRole", (*machines.CLUSTER_ROLE, *machines.OPTIONAL)),
        ("restart/files/role.yml", "Role", restart.ROLE),
        ("restart/files/collecting_role.yml", "Role", restart.COLLECTING),
    ],
)
def test_the_role_gives_exactly_the_rights_that_the_modules_ask_for(
    file: str, kind: str, rights: tuple[Right, ...]
) -> None:
    role = yaml.safe_load((ROLES / file).read_text(encoding="utf-8"))
    assert role["kind"] == kind
    given = [
        (verb, group, resource)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]
    assert sorted(given) == sorted((right.verb, right.group, right.resource) for right in rights)
    # A review asks without a name, so only a right that is never asked for may be one to objects by name.
    asked = {(right.group, right.resource) for right in rights if right not in NEVER_ASKED_FOR}
    for rule in role["rules"]:
        named = {"resourceNames"} & rule.keys()
        assert rule.keys() - named == {"apiGroups", "resources", "verbs"}, "no narrower than it looks"
        assert not named or (rule["apiGroups"][0], rule["resources"][0]) not in asked, "no narrower than it looks"
