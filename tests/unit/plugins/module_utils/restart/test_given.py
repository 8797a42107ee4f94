"""The file of a configuration is that of the user's own folder, and an invalid one is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.given import configuration_in
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.wanted import judge_wanted, wanted_in

ROOT = Path(__file__).resolve().parents[5]


def read(**entry: Any) -> str:
    (found,) = configuration_in({"configuration": [{"pool": "data", **entry}]})
    return str(found.get("content"))


def codes(refused: pytest.ExceptionInfo[Refusal]) -> list[str]:
    return [each.code for each in refused.value.verdict.reasons]


def test_a_relative_path_begins_where_the_playbook_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "opensearch.yml").write_text("cluster.name: mine\n")
    monkeypatch.chdir(tmp_path)
    assert read(file="opensearch.yml") == "cluster.name: mine\n"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read(file="~/opensearch.yml") == "cluster.name: mine\n"
    assert read(content="a: b") == "a: b"


def test_the_example_of_the_page_names_a_file_in_the_folder_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs/restart.md").read_text()
    (example,) = [block for block in page.split("```yaml\n") if block.startswith("# restart.yml\n")]
    given = yaml.safe_load(example.partition("```")[0])["upgrade_configuration"]
    assert "lookup(" not in example.partition("```")[0]
    (tmp_path / "opensearch.yml").write_text("cluster.name: mine\n")
    monkeypatch.chdir(tmp_path)
    (found,) = configuration_in({"configuration": given})
    assert found["content"] == "cluster.name: mine\n"


def test_a_file_that_cannot_be_read_is_named_with_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bytes.yml").write_bytes(b"\xff\xfe")
    for name, cause in (("none.yml", "No such file"), (".", "directory"), ("bytes.yml", "UTF-8")):
        with pytest.raises(Refusal) as refused:
            read(file=name)
        assert codes(refused) == ["configuration_file_unreadable"]
        message = refused.value.verdict.reasons[0].message
        assert (str((tmp_path / name).resolve()) in message, cause in message) == (True, True)


@pytest.mark.parametrize("more", [{"content": "a: b"}, {"previous": True}])
def test_one_content_is_given_and_not_two(more: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        read(file="opensearch.yml", **more)
    assert codes(refused) == ["configuration_or_previous"]


@pytest.mark.parametrize(
    "content",
    [
        "target_version: 3.8.0\nupgrade_namespace: search\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: search}\n",
        "- hosts: localhost\n  tasks: []\n",
        "plain words\n",
    ],
)
def test_content_that_is_no_configuration_is_refused(content: str) -> None:
    found = judge_wanted([{"pool": "data", "content": content}], {"data": ["data-0"]})
    assert [each.code for each in found.deciding()] == ["configuration_not_valid"]


def test_each_playbook_of_the_collection_is_refused_as_a_configuration() -> None:
    for path in sorted((ROOT / "playbooks").glob("*.yml")):
        found = judge_wanted([{"pool": "data", "content": path.read_text()}], {"data": ["data-0"]})
        assert [each.code for each in found.deciding()] == ["configuration_not_valid"], path


@pytest.mark.parametrize("content", ["", "# nothing\n", "cluster.name: a\nmy_plugin.x: 1\n", "http: {port: 9201}\n"])
def test_a_configuration_is_taken(content: str) -> None:
    assert judge_wanted([{"pool": "data", "content": content}], {"data": ["data-0"]}).passed
    assert wanted_in([{"pool": "data", "content": content}])["data"].content == content.encode()
