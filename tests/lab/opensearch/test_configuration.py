"""The file of settings that a member takes from a mounted Secret by its own name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lab import images
from tests.lab.errors import LabError
from tests.lab.images import ContainerContext, Launch, WithoutFolders
from tests.lab.opensearch.configuration import OPENSEARCH as SERVER
from tests.lab.opensearch.configuration import as_options, member_settings
from tests.lab.opensearch.layouts import CONFIGURATION, OPENSEARCH, Layout, Pool


def context(tmp_path: Path, **changes: Any) -> ContainerContext:
    """A container of pod `data-0` with a configuration mounted."""
    mounted = tmp_path / "mounted"
    mounted.mkdir(exist_ok=True)
    (tmp_path / "scratch").mkdir(exist_ok=True)
    fields: dict[str, Any] = {
        "mounts": {CONFIGURATION: mounted},
        "env": {"HOSTNAME": "data-0"},
        "command": tuple(OPENSEARCH.command),
        "args": (),
        "scratch": tmp_path / "scratch",
    }
    return ContainerContext("search", "data-0", "opensearch", "127.0.0.9", **{**fields, **changes})


def test_the_file_of_the_pods_name_is_taken(tmp_path: Path) -> None:
    here = context(tmp_path)
    (tmp_path / "mounted" / "data-0").write_text("node.attr.rank: mine\nnode.name: x\n", encoding="utf-8")
    (tmp_path / "mounted" / "data-1").write_text("node.attr.rank: of another\n", encoding="utf-8")
    settings = member_settings(SERVER, here)
    assert (settings["node.attr.rank"], settings["node.name"]) == ("mine", "x")
    assert "node.attr.rank" not in member_settings(SERVER, here, with_file=False)
    assert "node.attr.rank" not in member_settings(SERVER, context(tmp_path, command=("sh", "-c", "sleep 1")))


@pytest.mark.parametrize(("content", "said"), [("a: [", "is no YAML"), ("- a", "is not a mapping")])
def test_a_file_that_cannot_be_read_ends_the_container_with_a_line(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "scratch").mkdir()
    here = context(tmp_path)
    (tmp_path / "mounted" / "data-0").write_text(content, encoding="utf-8")

    class Server(WithoutFolders):
        def takes(self, _command: object) -> bool:
            return True

        def launch(self, context: ContainerContext) -> Launch:
            raise AssertionError(member_settings(SERVER, context))

    with pytest.raises(LabError, match=said):
        member_settings(SERVER, here)
    launch = images.launch(Server(), here)
    assert launch.argv[:2] == ("sh", "-c")
    assert said in launch.argv[-1]


def test_settings_as_options() -> None:
    given = {"b": ["x", "y"], "a": True, "c": "text", "empty": [], "d": 9200}
    assert as_options(given) == ["-Ea=true", "-Eb=x,y", "-Ec=text", "-Ed=9200"]


def test_a_configured_layout_has_its_settings_in_secrets_alone() -> None:
    pools = (Pool("managers", 1, ("cluster_manager",)), Pool("data", 2, ("data",)))
    settings = {"node.attr.rank": "1", "OPENSEARCH_JAVA_OPTS": "-Xmx1g"}
    layout = Layout("search", "3.8.0", pools, lambda *_: "127.0.0.9", configured=True, settings=settings)
    by_kind: dict[str, list[Any]] = {}
    for each in layout.manifests():
        by_kind.setdefault(each["kind"], []).append(each)
    (_managers, data) = by_kind["Secret"]
    assert sorted(data["stringData"]) == ["opensearch-data-0", "opensearch-data-1"]
    assert 'node.attr.rank: "1"\nnode.roles: ["data"]\n' in data["stringData"]["opensearch-data-0"]
    for each in by_kind["StatefulSet"]:
        (container,) = each["spec"]["template"]["spec"]["containers"]
        assert container["env"] == [{"name": "OPENSEARCH_JAVA_OPTS", "value": "-Xmx1g"}]
