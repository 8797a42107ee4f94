"""The variables of a cluster, as the ansible-playbook of its upgrade reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible import context
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible.utils.vars import load_extra_vars
from ansible_collections.stateful.upgrade.plugins.lookup.cluster_variables import LookupModule
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.given_values import given_text

Json = dict[str, Any]
BODY = {"text": "is {{ upgrade_notice.state }}"}


def read(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> Templar:
    """What ansible-playbook makes of these variables (`-e @file`), and of a template in a variable `seen`."""
    path, seen = folder / "variables.json", folder / "seen.json"
    path.write_text(text)
    seen.write_text(json.dumps({"seen": "{{ given }}"}))
    monkeypatch.setattr(context, "CLIARGS", {"extra_vars": (f"@{path}", f"@{seen}")})
    monkeypatch.setattr(load_extra_vars, "extra_vars", {}, raising=False)
    loader = DataLoader()
    return Templar(loader=loader, variables=load_extra_vars(loader))


@pytest.mark.parametrize(
    "value",
    [
        "s3{{ 6 * 7 }}",
        "{{ lookup('pipe', 'id') }}",
        "100{% if",
        "a{#b",
        "plain: #3",
        ["{{ one }}", {"deep": "{% two"}],
        {"key": ["{# three", 3, None, True, 1.5]},
    ],
)
def test_a_value_reaches_the_playbook_of_a_cluster_as_it_is(
    value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    templar = read(monkeypatch, tmp_path, given_text({"given": value}))
    assert templar.template(templar.available_variables["seen"]) == value


def test_a_notice_of_the_cluster_is_filled_in_by_its_own_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_host = {"upgrade_webhook_body": BODY, "upgrade_namespace": "{{ 'sea' }}rch"}
    of_fleet = read(monkeypatch, tmp_path, json.dumps(of_host))
    lookup = LookupModule(loader=DataLoader(), templar=of_fleet)
    (found,) = lookup.run(["opensearch"], of_fleet.available_variables)
    assert found["variables"] == {"upgrade_webhook_body": BODY, "upgrade_namespace": "search"}
    of_cluster = read(monkeypatch, tmp_path, given_text(found["variables"]))
    of_cluster.available_variables = {**of_cluster.available_variables, "upgrade_notice": {"state": "started"}}
    assert of_cluster.template(of_cluster.available_variables["upgrade_webhook_body"]) == {"text": "is started"}
