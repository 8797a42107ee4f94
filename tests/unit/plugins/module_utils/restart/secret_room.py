"""A namespace with the documented Roles, in which the acts of a restart are made by a user who has no other rights."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.act.configuration import Place
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import Passing

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.api import ApiServer
from tests.sandbox.kubernetes.in_process import TOKEN, InProcess
from tests.sandbox.kubernetes.rights import ADMIN, User

Json = dict[str, Any]
ROLES = Path(__file__).resolve().parents[5] / "roles"
UPGRADE, RESTART, COLLECTING = (
    "opensearch/files/role.yml",
    "restart/files/role.yml",
    "restart/files/collecting_role.yml",
)
RUNNER = "token-of-the-runner"
SECRETS = "/api/v1/namespaces/search/secrets"
PLACE = Place("search", "data-configuration", "data")
PATH = f"{SECRETS}/{PLACE.name}"


def role(file: str) -> Json:
    """A Role as it is shipped."""
    shipped: Json = yaml.safe_load((ROLES / file).read_text(encoding="utf-8"))
    return shipped


def room(roles: Sequence[Json] | None = None) -> InProcess:
    """An API server with a user who has these Roles, by default all those documented for restarts."""
    server = ApiServer(Clock(), {TOKEN: ADMIN, RUNNER: User("runner")})
    api = InProcess(server, token=RUNNER)
    for each in roles if roles is not None else [role(file) for file in (UPGRADE, RESTART, COLLECTING)]:
        name, group = each["metadata"]["name"], "/apis/rbac.authorization.k8s.io/v1/namespaces/search"
        api.put_there(f"{group}/roles/{name}", each)
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "User", "name": "runner"}],
        }
        api.put_there(f"{group}/rolebindings/{name}", binding)
    return api


def task_of(**given: Any) -> Task:
    """A task of no run; keywords such as check_mode are its own."""
    return Task(params={}, clock=Passing(), **given)


def put_secret(api: InProcess, contents: dict[str, bytes], labels: dict[str, str] | None = None, **more: Any) -> None:
    """A Secret exists already. By default it has the label of a pool."""
    metadata = {"name": PLACE.name, "labels": {"upgrade.stateful/configuration": "data"} if labels is None else labels}
    data = {key: base64.b64encode(content).decode() for key, content in contents.items()}
    api.put_there(PATH, {"metadata": metadata, "data": data, **more})


def contents(api: InProcess, path: str = PATH) -> dict[str, bytes]:
    """The keys of a Secret as they are."""
    return {key: base64.b64decode(each) for key, each in (api.objects[path].get("data") or {}).items()}


def pod(name: str, spec: Json, **metadata: Any) -> Json:
    """A pod with one container and this in its spec."""
    container = {"name": "server", "image": "opensearch:3.8.0"}
    return {"metadata": {"name": name, **metadata}, "spec": {"containers": [container], **spec}}
