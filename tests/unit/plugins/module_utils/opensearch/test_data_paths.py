"""Whether what a member keeps under its data path outlives its pod."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import StatefulSet
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import OpenSearchClient
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import observe_data_paths
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.data_paths import (
    keeps_data,
    parse_data_paths,
    said_by_all,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.products import (
    ELASTICSEARCH,
    OPENSEARCH,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pool

HOME = "/usr/share/opensearch"
DEFAULT = OPENSEARCH.data_path
CLAIM = {"persistentVolumeClaim": {"claimName": "c"}}
HOST = {"hostPath": {"path": "/var/data"}}


def with_volumes(
    mounts: dict[str, str], volumes: dict[str, Any] | None = None, claims: tuple[str, ...] = (), **container: Any
) -> StatefulSet:
    """A pool of three whose container mounts volumes: name by path; volumes and claim templates by name."""
    server = {
        "name": "server",
        "image": "opensearch:2.19.6",
        "volumeMounts": [{"name": name, "mountPath": path} for path, name in mounts.items()],
        **container,
    }
    template = {"containers": [server], "volumes": [{"name": name, **kind} for name, kind in (volumes or {}).items()]}
    return pool(
        template={"spec": template}, volumeClaimTemplates=[{"metadata": {"name": name}} for name in claims] or None
    )


@pytest.mark.parametrize(
    ("mounts", "volumes", "claims", "keeps"),
    [
        ({DEFAULT: "data"}, {}, ("data",), True),
        ({DEFAULT + "/": "data"}, {"data": CLAIM}, (), True),
        ({DEFAULT: "data"}, {"data": HOST}, (), True),
        ({DEFAULT: "data"}, {"data": {"nfs": {"server": "s", "path": "/"}}}, (), True),
        # Paths that go with the pod.
        ({}, {}, (), False),
        ({DEFAULT: "data"}, {"data": {"emptyDir": {}}}, (), False),
        ({DEFAULT: "data"}, {"data": {}}, (), False),
        ({DEFAULT: "data"}, {"data": {"csi": {"driver": "d"}}}, (), False),
        ({DEFAULT: "data"}, {"data": {"ephemeral": {"volumeClaimTemplate": {}}}}, (), False),
        # Something lasting is there, and the data is not on it.
        ({DEFAULT: "data", "/certs": "certs"}, {"data": {"emptyDir": {}}, "certs": HOST}, (), False),
        ({DEFAULT: "data", HOME + "/logs": "logs"}, {"data": {"emptyDir": {}}}, ("logs",), False),
        ({HOME + "/logs": "logs"}, {}, ("logs",), False),
        ({}, {"data": CLAIM}, ("other",), False),
        ({HOME + "/data-of-others": "data"}, {}, ("data",), False),
        # Above and below the path: the deepest mount counts.
        ({HOME: "home"}, {}, ("home",), True),
        ({"/": "root"}, {"root": CLAIM}, (), True),
        ({HOME: "home", DEFAULT: "data"}, {"data": {"emptyDir": {}}}, ("home",), False),
        ({HOME: "home", DEFAULT: "data"}, {"home": {"emptyDir": {}}}, ("data",), True),
        ({DEFAULT + "/nodes": "nodes"}, {}, ("nodes",), True),
        ({DEFAULT: "data", DEFAULT + "/nodes": "nodes"}, {"nodes": {"emptyDir": {}}}, ("data",), False),
        # A claim template takes the place of a volume of its name.
        ({DEFAULT: "data"}, {"data": {"emptyDir": {}}}, ("data",), True),
    ],
)
def test_what_is_mounted_at_the_data_path_counts(
    mounts: dict[str, str], volumes: dict[str, Any], claims: tuple[str, ...], keeps: bool
) -> None:
    assert keeps_data(with_volumes(mounts, volumes, claims), {}, OPENSEARCH) is keeps


@pytest.mark.parametrize(
    ("known", "variable", "keeps"),
    [
        ({}, None, False),
        ({"data-1": ("/data",)}, None, True),
        # Members of other pools show where this image keeps its data, while none of its own is there.
        ({"other-0": ("/data",)}, None, True),
        ({"data-0": ("/data",), "data-1": ("/data", "/scratch")}, None, False),
        ({"data-0": (DEFAULT,), "other-0": ("/data",)}, None, False),
        ({}, "/data", True),
        ({}, "/data,/scratch", False),
        # The server names what a link leads to.
        ({"data-0": ("/mnt/disk-7",)}, "/data", True),
    ],
)
def test_the_data_path_is_what_the_server_says_else_the_template_else_the_images_own(
    known: dict[str, tuple[str, ...]], variable: str | None, keeps: bool
) -> None:
    env = [{"name": "path.data", "value": variable}] if variable else []
    seen = with_volumes({"/data": "data", "/scratch": "scratch"}, {"data": CLAIM, "scratch": {"emptyDir": {}}}, env=env)
    assert keeps_data(seen, known, OPENSEARCH) is keeps


def test_the_settings_of_the_members() -> None:
    answer = {
        "nodes": {
            "1": {"name": "a", "settings": {"path": {"home": HOME}}},
            "2": {"name": "b", "settings": {"path": {"home": HOME, "data": "/data"}}},
            "3": {"name": "c", "settings": {"path": {"home": HOME, "data": ["/one", "two"]}}},
            "4": {"name": "d"},
        }
    }
    assert parse_data_paths(answer) == {
        "a": (DEFAULT,),
        "b": ("/data",),
        "c": ("/one", HOME + "/two"),
        "d": (),
    }


class Answering(OpenSearchClient):
    """A cluster that has this answer, and is asked to give it within a time."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        assert (path, params["timeout"]) == ("/_nodes/_all/settings", "5s")
        return dict(self.answer)


@pytest.mark.parametrize(
    "answer", [{"nodes": []}, {"nodes": {"1": {}}}, {"nodes": {"1": {"name": "a", "settings": 1}}}]
)
def test_another_answer_is_not_understood(answer: Any) -> None:
    with pytest.raises(Refusal, match="settings is not understood"):
        observe_data_paths(Answering(answer))


def test_a_member_that_did_not_answer_makes_the_answer_none_where_it_is_asked_for() -> None:
    """One that hangs, or is overloaded, is left out of the answer without a word."""
    answer = {"nodes": {"1": {"name": "a", "settings": {"path": {"home": HOME}}}, "2": {"name": "b"}}}
    known = observe_data_paths(Answering(answer))
    assert said_by_all(known, ["a", "b"]) == {"a": (DEFAULT,), "b": ()}
    with pytest.raises(Unreachable) as caught:
        said_by_all(known, ["a", "c"])
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "opensearch_incomplete"
    assert "did not answer GET _nodes/_all/settings: c." in reason.message


def test_the_default_is_that_of_the_image_of_the_server() -> None:
    own = with_volumes({ELASTICSEARCH.data_path: "data"}, {"data": CLAIM}, ())
    assert keeps_data(own, {}, ELASTICSEARCH)
    assert not keeps_data(own, {}, OPENSEARCH)
