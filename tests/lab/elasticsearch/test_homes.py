"""The homes of Elasticsearch, and what its server is started with. That members boot is a test of the scenarios."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.lab.elasticsearch import homes
from tests.lab.elasticsearch.homes import LOCKED, STOCKED, fetch_home, home_path
from tests.lab.elasticsearch.image import ElasticsearchImage, image
from tests.lab.elasticsearch.server_arguments import server_arguments
from tests.lab.errors import LabError
from tests.lab.images import ContainerContext, ImageNotFound

# As the launcher of 8.19.4 has written it; the keystore before it differs from start to start.
WRITTEN = (
    b"\x04"
    b"\x0ccluster.name\x00\x02es"
    b"\x14discovery.seed_hosts\x07\x00"
    b"\x09http.port\x00\x049200"
    b"\x0anode.roles\x07\x02\x00\x06master\x00\x04data"
    b"\x07/config"
    b"\x05/logs"
)
HEAD = b"\x00\x00\x001org.elasticsearch.common.settings.KeyStoreWrapper\x00\x00\x00\x07\x00"


def context(scratch: Path, **env: str) -> ContainerContext:
    return ContainerContext("space", "member-0", "elasticsearch", "127.9.9.9", scratch, {}, env, (), ())


def test_the_server_is_given_what_its_launcher_would_give_it() -> None:
    settings: dict[str, Any] = {
        "node.roles": ["master", "data"],
        "http.port": 9200,
        "cluster.name": "es",
        "discovery.seed_hosts": [],
    }
    written = server_arguments(settings, Path("/config"), Path("/logs"))
    assert written.startswith(HEAD)
    assert written.endswith(WRITTEN)


def test_long_texts_say_their_length_in_several_bytes() -> None:
    written = server_arguments({"a": "x" * 300}, Path("/c"), Path("/l"))
    assert written.endswith(b"\x01a\x00\xac\x02" + b"x" * 300 + b"\x02/c\x02/l")


def test_a_member_is_started_with_its_settings_and_nobody_asks_for_a_password(tmp_path: Path) -> None:
    started = ElasticsearchImage("8.19.4", tmp_path / "home").launch(context(tmp_path, **{"node.roles": "[]"}))
    assert started.argv[0] == "/bin/sh"
    fed = (tmp_path / "arguments").read_bytes()
    for part in (
        b"\x16xpack.security.enabled\x00\x05false",
        b"\x0anode.roles\x07\x00",
        b"\x09node.name\x00\x08member-0",
    ):
        assert part in fed, part
    older = ElasticsearchImage("7.17.29", tmp_path / "home").launch(context(tmp_path))
    assert older.argv[-1] == "org.elasticsearch.bootstrap.Elasticsearch"
    assert "xpack.security.enabled: false" in (tmp_path / "config/elasticsearch.yml").read_text()


def test_a_version_without_a_lock_is_refused_by_name() -> None:
    assert set(STOCKED) <= set(LOCKED)
    with pytest.raises(LabError, match=r"Elasticsearch 1\.0\.0 is not locked"):
        fetch_home("1.0.0")
    with pytest.raises(ImageNotFound, match=r"not locked"):
        image("1.0.0")


def test_a_zip_that_is_not_the_locked_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATEFUL_UPGRADE_CACHE", str(tmp_path))

    def other(_coordinate: object, directory: Path) -> Path:
        directory.mkdir()
        (directory / "x").write_text("something else")
        return Path(shutil.make_archive(str(directory / "other"), "zip", directory, "x"))

    monkeypatch.setattr(homes, "fetch_jar", other)
    monkeypatch.setattr(homes, "fetch_java", lambda: None)
    with pytest.raises(LabError, match="do not trust the source"):
        fetch_home(STOCKED[0])
    assert not home_path(STOCKED[0]).exists()
