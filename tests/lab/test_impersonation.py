"""A kubeconfig that says as whom it acts, asked of a real API server."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Denied, Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import connect
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.stateful_sets import observe_namespace
from kubernetes.client import RbacAuthorizationV1Api

from tests.lab.namespace import Namespace
from tests.lab.waiting import until

GROUP = "rbac.authorization.k8s.io"
TIMEOUT = 60.0


def acting(namespace: Namespace, folder: Path, user: str, **fields: object) -> Path:
    """The kubeconfig of a user who acts as someone else."""
    content = yaml.safe_load(namespace.lab.kubeconfig(user).read_text(encoding="utf-8"))
    for each in content["users"]:
        each["user"].update(fields)
    path = folder / f"{user}-acting"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def sees(namespace: Namespace, path: Path) -> bool:
    """Whether the pods of the namespace are seen with this kubeconfig."""
    try:
        observe_namespace(connect({"kubeconfig": str(path)}), namespace.name)
    except Denied:
        return False
    return True


def allow(namespace: Namespace, name: str, kind: str) -> None:
    """Let a user or a group see all that is looked at."""
    rule = {"apiGroups": ["", "apps"], "resources": ["pods", "statefulsets"], "verbs": ["list"]}
    about = {"apiVersion": f"{GROUP}/v1", "metadata": {"name": "see"}}
    reference = {"apiGroup": GROUP, "kind": "Role", "name": "see"}
    subject = {"apiGroup": GROUP, "kind": kind, "name": name}
    namespace.apply(
        {**about, "kind": "Role", "rules": [rule]},
        {**about, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]},
    )


def test_the_rights_are_those_of_whom_it_acts_as(namespace: Namespace, tmp_path: Path) -> None:
    """An administrator who acts as a user has the rights of that user, and no others."""
    path = acting(namespace, tmp_path, "admin", **{"as": "night-shift"})
    with pytest.raises(Denied):
        observe_namespace(connect({"kubeconfig": str(path)}), namespace.name)
    allow(namespace, "night-shift", "User")
    until("the right of the user", lambda: sees(namespace, path), TIMEOUT)


def test_the_rights_of_a_group_count_too(namespace: Namespace, tmp_path: Path) -> None:
    path = acting(namespace, tmp_path, "admin", **{"as": "anybody", "as-groups": ["upgraders"]})
    assert not sees(namespace, path)
    allow(namespace, "upgraders", "Group")
    until("the right of the group", lambda: sees(namespace, path), TIMEOUT)


def test_who_may_act_as_nobody_else_is_told_so_with_what_is_enough(namespace: Namespace, tmp_path: Path) -> None:
    allow(namespace, "night-shift", "User")
    path = acting(namespace, tmp_path, "upgrader", **{"as": "night-shift"})
    with pytest.raises(Refusal) as caught:
        observe_namespace(connect({"kubeconfig": str(path)}), namespace.name)
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "kubernetes_impersonation", reason
    said = re.search(r"ClusterRole bound to upgrader the rule ({.*?});", reason.remedy)
    assert said, reason.remedy
    name = f"act-{namespace.name}"
    about = {"apiVersion": f"{GROUP}/v1", "metadata": {"name": name}}
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": name}
    subject = {"apiGroup": GROUP, "kind": "User", "name": "upgrader"}
    role = {**about, "kind": "ClusterRole", "rules": [yaml.safe_load(said[1])]}
    binding = {**about, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]}
    namespace.lab.apply([role, binding])
    try:
        until("the right to act as another", lambda: sees(namespace, path), TIMEOUT)
    finally:
        with namespace.lab.client() as api:
            RbacAuthorizationV1Api(api).delete_cluster_role_binding(name)
            RbacAuthorizationV1Api(api).delete_cluster_role(name)
