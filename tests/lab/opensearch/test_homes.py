"""Homes, the image and the layouts: every locked version boots, keeps its data and obeys SIGTERM."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lab.cache import cache_root
from tests.lab.errors import LabError
from tests.lab.images import ContainerContext, ImageNotFound
from tests.lab.opensearch.configuration import OPENSEARCH, member_settings, render
from tests.lab.opensearch.homes import fetch_home, fetch_jars, home_path
from tests.lab.opensearch.image import (
    ARCHIVE,
    NO_ARCHIVE,
    OpenSearchImage,
    archive_path,
    image,
)
from tests.lab.opensearch.layouts import SERVES_CLIENTS, seven_members, three_combined
from tests.lab.opensearch.locks import Coordinate, Lock, locked_versions, read_lock
from tests.lab.opensearch.trial import trial_member
from tests.lab.processes import pod_user

GIVEN_HEAP = "-Xms256m -Xmx256m"
SETTINGS = "/usr/share/opensearch/config/opensearch.yml"


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that the members' user may enter; pytest's own are private."""
    with tempfile.TemporaryDirectory(prefix="homes-") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


def context(scratch: Path, **changes: Any) -> ContainerContext:
    fields: dict[str, Any] = {"mounts": {}, "env": {}, "command": (), "args": ()} | changes
    return ContainerContext("space", "member-0", "opensearch", "127.9.9.9", scratch, **fields)


@pytest.mark.parametrize("version", locked_versions())
def test_a_member_of_every_locked_version_boots_and_keeps_its_data(version: str, open_directory: Path) -> None:
    fetch_home(version)
    data = open_directory / "data"
    data.mkdir()
    if (user := pod_user()) is not None:
        os.chown(data, user.uid, user.gid)
    for boot in ("first", "second"):
        place = open_directory / boot
        place.mkdir(mode=0o755)
        mounts = {"/usr/share/opensearch/data": data}
        with trial_member(version, place, {"node.attr.zone": "a"}, mounts) as member:
            assert member.ask("/")["version"]["number"] == version
            if boot == "first":
                member.ask("/kept/_doc/1", "PUT", {"boot": boot})
            (node,) = member.ask("/_nodes")["nodes"].values()
            assert node["attributes"]["zone"] == "a"
            member.ask(
                "/_cluster/health?wait_for_status=yellow&timeout=30s"
            )  # it answers before it has its shards back
            assert member.ask("/kept/_doc/1")["_source"] == {"boot": "first"}
            # Java answers SIGTERM with an orderly end and this code; a shell in between would swallow the signal.
            assert member.stop() == 128 + signal.SIGTERM


def test_a_second_fetch_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    version = locked_versions()[-1]
    home = fetch_home(version)
    monkeypatch.setattr("tests.lab.opensearch.homes.fetch_jar", lambda *_: pytest.fail("a jar was fetched again"))
    assert fetch_home(version) == home


def test_a_jar_that_is_not_the_locked_one_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATEFUL_UPGRADE_CACHE", str(tmp_path))
    coordinate = Coordinate("org.example", "jar", "1.0")
    path = cache_root() / "maven" / coordinate.directory / coordinate.file_name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"something else")
    with pytest.raises(LabError, match=r"org\.example:jar:1\.0 .* SHA-256 .* delete that file"):
        fetch_jars(Lock("1.0.0", {coordinate: "0" * 64}))


def test_a_fetched_jar_that_is_not_the_locked_one_never_reaches_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATEFUL_UPGRADE_CACHE", str(tmp_path))

    def fetch(coordinate: Coordinate, directory: Path) -> Path:
        jar = directory / coordinate.file_name
        jar.write_bytes(b"something else")
        return jar

    monkeypatch.setattr("tests.lab.opensearch.homes.fetch_jar", fetch)
    with pytest.raises(LabError, match="SHA-256"):
        fetch_jars(Lock("1.0.0", {Coordinate("org.example", "jar", "1.0"): "0" * 64}))
    assert list((tmp_path / "maven").rglob("*.jar")) == []


def test_the_home_changes_with_the_lock() -> None:
    lock = read_lock(locked_versions()[0])
    coordinate = next(iter(lock.artifacts))
    other = Lock(lock.version, {**lock.artifacts, coordinate: "0" * 64})
    assert home_path(lock) != home_path(other)


def test_locks_are_written_as_they_would_be_made() -> None:
    for version in locked_versions():
        lock = read_lock(version)
        assert (Path(__file__).parent / "locks" / f"{version}.json").read_text() == lock.render()


@pytest.mark.parametrize("version", ["1.0.0", "latest", "../2.19.6", ""])
def test_an_unknown_version_is_an_image_that_does_not_exist(version: str) -> None:
    with pytest.raises(ImageNotFound, match="has no lock"):
        image(version)


def test_a_version_that_is_not_fetched_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATEFUL_UPGRADE_CACHE", str(tmp_path))
    version = locked_versions()[0]
    with pytest.raises(ImageNotFound, match=f"opensearch fetch {version}"):
        image(version)


def test_settings_come_from_defaults_then_the_mounted_file_then_variables(tmp_path: Path) -> None:
    mounted = tmp_path / "opensearch.yml"
    mounted.write_text("cluster: {name: from-file}\nnode.attr:\n  zone: from-file\nnode.name: from-file\n")
    env = {"cluster.name": "from-variable", "LAB_ZONE": "b", "PATH": "/bin", "action.auto_create_index": ""}
    settings = member_settings(OPENSEARCH, context(tmp_path, mounts={SETTINGS: mounted}, env=env))
    assert settings["cluster.name"] == "from-variable"
    assert settings["node.attr.zone"] == "from-file"
    assert settings["node.name"] == "from-file"
    assert settings["network.host"] == "127.9.9.9"
    assert not {"PATH", "LAB_ZONE", "action.auto_create_index"} & set(settings)


def test_the_zone_comes_from_the_kubernetes_node_unless_given(tmp_path: Path) -> None:
    assert member_settings(OPENSEARCH, context(tmp_path, env={"LAB_ZONE": "b"}))["node.attr.zone"] == "b"
    given = {"LAB_ZONE": "b", "node.attr.zone": "c"}
    assert member_settings(OPENSEARCH, context(tmp_path, env=given))["node.attr.zone"] == "c"
    assert "node.attr.zone" not in member_settings(OPENSEARCH, context(tmp_path))


@pytest.mark.parametrize(
    ("written", "roles"),
    [("", []), ("[]", []), ("data,ingest", ["data", "ingest"]), ("[data, ingest]", ["data", "ingest"])],
)
def test_roles_are_a_list_even_when_there_are_none(written: str, roles: list[str], tmp_path: Path) -> None:
    settings = member_settings(OPENSEARCH, context(tmp_path, env={"node.roles": written}))
    assert yaml.safe_load(render(settings))["node.roles"] == roles


def test_data_lies_in_the_mount_or_else_in_the_scratch_directory(tmp_path: Path) -> None:
    assert member_settings(OPENSEARCH, context(tmp_path))["path.data"] == str(tmp_path / "data")
    mounts = {"/usr/share/opensearch/data": tmp_path / "volume"}
    assert member_settings(OPENSEARCH, context(tmp_path, mounts=mounts))["path.data"] == str(tmp_path / "volume")


def test_a_mounted_file_that_is_no_mapping_is_an_error_with_its_path(tmp_path: Path) -> None:
    mounted = tmp_path / "opensearch.yml"
    mounted.write_text("- a\n- list\n")
    with pytest.raises(LabError, match=str(mounted)):
        member_settings(OPENSEARCH, context(tmp_path, mounts={SETTINGS: mounted}))


def test_the_heap_can_be_replaced(tmp_path: Path) -> None:
    version = locked_versions()[-1]
    fetch_home(version)
    plain = image(version).launch(context(tmp_path))
    assert set(GIVEN_HEAP.split()) <= set(plain.argv)
    larger = image(version).launch(context(tmp_path, env={"OPENSEARCH_JAVA_OPTS": "-Xmx1g"}))
    assert "-Xmx1g" in larger.argv
    assert not set(GIVEN_HEAP.split()) & set(larger.argv)


def test_a_member_can_start_without_the_class_archive_of_the_lab(tmp_path: Path) -> None:
    home = OpenSearchImage("3.8.0", tmp_path / "home")
    home.home.mkdir()
    archive_path(home.home).touch()
    given = [
        any("SharedArchiveFile" in option for option in home.launch(context(tmp_path, env=env)).argv)
        for env in ({}, {ARCHIVE: NO_ARCHIVE})
    ]
    assert given == [True, False]


def _address(namespace: str, pod: str) -> str:
    return f"{pod}.{namespace}"


def _environment(stateful_set: dict[str, Any]) -> dict[str, str]:
    (container,) = stateful_set["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one["value"] for one in container["env"]}


def _stateful_sets(manifests: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in manifests if one["kind"] == "StatefulSet"}


def test_seven_members_are_three_pools_and_all_seek_the_managers() -> None:
    sets = _stateful_sets(seven_members("space", "2.19.6", address=_address))
    roles = {name: _environment(one)["node.roles"] for name, one in sets.items()}
    assert roles == {
        "opensearch-managers": "[cluster_manager]",
        "opensearch-data": "[data,ingest]",
        "opensearch-coordinating": "[]",
    }
    managers = [f"opensearch-managers-{ordinal}" for ordinal in range(3)]
    for name, one in sets.items():
        environment = _environment(one)
        assert environment["discovery.seed_hosts"].split(",") == [f"{pod}.space" for pod in managers]
        assert ("cluster.initial_cluster_manager_nodes" in environment) == (name == "opensearch-managers")
    served = {name for name, one in sets.items() if SERVES_CLIENTS in one["spec"]["template"]["metadata"]["labels"]}
    assert served == {"opensearch-data", "opensearch-coordinating"}


def test_a_layout_is_as_asked() -> None:
    (plain,) = _stateful_sets(three_combined("space", "2.19.6", address=_address)).values()
    assert plain["spec"]["updateStrategy"] == {"type": "RollingUpdate"}
    assert "volumes" not in plain["spec"]["template"]["spec"]
    options = {"ephemeral": True, "update_strategy": "OnDelete", "cluster": "logs", "image_repository": "mirror/os"}
    (other,) = _stateful_sets(three_combined("space", "3.8.0", address=_address, **options)).values()
    assert other["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert "volumeClaimTemplates" not in other["spec"]
    assert other["spec"]["template"]["spec"]["volumes"] == [{"name": "data", "emptyDir": {}}]
    assert other["spec"]["template"]["spec"]["containers"][0]["image"] == "mirror/os:3.8.0"
    assert other["metadata"]["labels"]["app.kubernetes.io/instance"] == "logs"
    assert _environment(other)["cluster.name"] == "logs"
