# SPDX-License-Identifier: GPL-3.0-or-later
"""The Role that users are given, against the rights that the modules ask for."""

from __future__ import annotations

from pathlib import Path

import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.rights import PORT_FORWARD
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.rights import ROLE

FILE = Path(__file__).resolve().parents[2] / "roles" / "opensearch" / "files" / "role.yml"


def test_the_role_gives_exactly_the_rights_that_the_modules_ask_for() -> None:
    role = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    assert role["kind"] == "Role", "nothing in the whole cluster"
    given = [
        (verb, group, resource)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]
    assert sorted(given) == sorted((right.verb, right.group, right.resource) for right in (*ROLE, *PORT_FORWARD))
    assert all(rule.keys() == {"apiGroups", "resources", "verbs"} for rule in role["rules"]), (
        "no narrower than it looks"
    )
