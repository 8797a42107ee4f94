"""Pods that can take a new configuration in place, and those that have to be replaced, each with the cause."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.pod_spec import (
    Mounted,
    how_mounted,
    judge_from_pod,
    judge_mounted,
    judge_probes,
    judge_signal,
    plugins_survive,
    template_changes,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.setting_rules import SettingEffect
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.observe.pod_spec import (
    elsewhere,
    from_pod,
    mounts_of,
    probes_of,
    shares_processes,
)

Json = dict[str, Any]
FILE = "/usr/share/opensearch/config/opensearch.yml"
SECRET = "data-configuration"


def spec(*mounts: Json, volumes: list[Json] | None = None, **container: Any) -> Json:
    server = {"name": "opensearch", "image": "opensearch:3.8.0", "volumeMounts": list(mounts), **container}
    return {"containers": [{"name": "exporter", "image": "exporter:1"}, server], "volumes": volumes or []}


def mount(path: str, name: str = "c", **more: Any) -> Json:
    return {"name": name, "mountPath": path, **more}


def volume(name: str = "c", **kind: Any) -> Json:
    return {"name": name, **kind}


def mounted(*mounts: Json, volumes: list[Json], members: tuple[str, ...] = (), claims: tuple[str, ...] = ()) -> Mounted:
    return how_mounted(mounts_of(spec(*mounts, volumes=volumes), "opensearch", claims), FILE, SECRET, members)


OURS = volume(secret={"secretName": SECRET})
PROJECTED = volume(projected={"sources": [{"downwardAPI": {}}, {"secret": {"name": SECRET}}]})


@pytest.mark.parametrize("ours", [OURS, PROJECTED])
def test_the_whole_secret_as_a_directory_follows_it(ours: Json) -> None:
    assert mounted(mount("/configuration/"), volumes=[ours]) == Mounted("/configuration")
    helm = [ours, volume("config", emptyDir={})]
    config = mount("/usr/share/opensearch/config", "config")
    assert mounted(mount("/configuration"), config, volumes=helm) == Mounted("/configuration")


@pytest.mark.parametrize(
    ("mounts", "volumes", "cause"),
    [
        (
            [mount(FILE, subPath="opensearch.yml")],
            [volume(configMap={"name": "data-config"})],
            f"ConfigMap data-config is mounted at {FILE} by subPath, which the kubelet never updates",
        ),
        (
            [mount(FILE, subPathExpr="$(POD_NAME)"), mount("/configuration")],
            [OURS],
            f"Secret {SECRET} is mounted at {FILE} by subPath, which the kubelet never updates",
        ),
        (
            [mount("/configuration/here.yml", subPath="data-0")],
            [OURS],
            f"Secret {SECRET} is mounted at /configuration/here.yml by subPath, which the kubelet never updates",
        ),
        (
            [mount("/usr/share/opensearch/config")],
            [volume(configMap={"name": "data-config"})],
            "ConfigMap data-config is mounted at /usr/share/opensearch/config, and not Secret data-configuration by the"
            " names of the pods",
        ),
        (
            [mount("/usr/share/opensearch/config")],
            [volume(secret={"secretName": "theirs"})],
            "Secret theirs is mounted at /usr/share/opensearch/config, and not Secret data-configuration by the names",
        ),
        (
            [mount("/usr/share/opensearch/config")],
            [volume(emptyDir={})],
            "a volume of the kind emptyDir is mounted at /usr/share/opensearch/config, and not Secret data-config",
        ),
        (
            [mount("/usr/share/opensearch/data")],
            [volume(emptyDir={})],
            f"no volume is mounted at {FILE}, so the file is",
        ),
        ([mount("/usr/share/opensearch/configured")], [volume(emptyDir={})], f"no volume is mounted at {FILE}"),
    ],
)
def test_every_other_mount_needs_a_new_pod_and_says_why(mounts: list[Json], volumes: list[Json], cause: str) -> None:
    found = mounted(*mounts, volumes=volumes)
    assert found.directory == ""
    assert found.cause.startswith(cause)
    for in_place, state in ((True, "refused"), (False, "passed")):
        (said,) = judge_mounted("data", found, in_place).reasons
        assert (said.state.value, said.code) == (state, "configuration_needs_new_pod")
        assert cause in said.message


def test_a_secret_whose_keys_are_listed_must_list_every_member_by_its_name() -> None:
    items = [{"key": "data-0", "path": "data-0"}, {"key": "data-1", "path": "opensearch.yml"}]
    listed = volume(secret={"secretName": SECRET, "items": items})
    assert mounted(mount("/c"), volumes=[listed], members=("data-0",)) == Mounted("/c")
    found = mounted(mount("/c"), volumes=[listed], members=("data-0", "data-1"))
    assert found.cause == f"the volume of Secret {SECRET} lists its keys, and has no file for data-1"
    projected = volume(projected={"sources": [{"secret": {"name": SECRET, "items": items}}]})
    assert mounted(mount("/c"), volumes=[projected], members=("data-1",)).directory == ""


def test_listed_keys_of_another_source_of_a_projected_volume_hide_no_key() -> None:
    items = [{"key": "tls.crt", "path": "tls.crt"}]
    others = [{"secret": {"name": "tls", "items": items}}, {"configMap": {"name": "scripts", "items": items}}]
    whole = volume(projected={"sources": [*others, {"secret": {"name": SECRET}}]})
    assert mounted(mount("/c"), volumes=[whole], members=("data-0",)).directory == "/c"
    listed = [{"secret": {"name": SECRET, "items": [{"key": key, "path": key}]}} for key in ("data-0", "data-1")]
    both = volume(projected={"sources": [*others, *listed]})
    assert mounted(mount("/c"), volumes=[both], members=("data-0", "data-1")).directory == "/c"
    assert mounted(mount("/c"), volumes=[both], members=("data-2",)).cause.endswith("has no file for data-2")


def test_a_mount_in_another_container_is_none_of_the_server() -> None:
    both = spec(volumes=[OURS])
    both["containers"][0]["volumeMounts"] = [mount("/configuration")]
    assert not how_mounted(mounts_of(both, "opensearch"), FILE, SECRET).directory


def test_a_claim_comes_before_a_volume_of_its_name() -> None:
    found = mounted(mount("/usr/share/opensearch"), volumes=[OURS], claims=("c",))
    assert found.cause.startswith("a volume of the kind claim is mounted at /usr/share/opensearch")


def test_a_right_mount_says_nothing() -> None:
    assert not judge_mounted("data", Mounted("/configuration"), in_place=True).reasons


def test_settings_and_options_of_the_pod_are_found_without_their_values() -> None:
    variables = [
        {"name": "cluster.name", "value": "hunter2"},
        {"name": "node.name", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "discovery.type", "value": ""},
        {"name": "processors", "value": "2"},
        {"name": "ES_SETTING_XPACK_SECURITY_TRANSPORT_SSL_VERIFICATION__MODE", "value": "none"},
        {"name": "OPENSEARCH_JAVA_OPTS", "value": "-Xmx1g -Dhunter2"},
        {"name": "DISABLE_SECURITY_PLUGIN", "value": "true"},
        {"name": "OPENSEARCH_INITIAL_ADMIN_PASSWORD", "value": "hunter2"},
        {"name": "NODE_NAME", "value": "hunter2"},
    ]
    command = ["bash", "-c", "exec opensearch -Epath.repo=/hunter2 -E node.attr.zone=$ZONE"]
    sources = [{"secretRef": {"name": "more"}}, {"configMapRef": {"name": "others"}}]
    found = from_pod(spec(env=variables, command=command, envFrom=sources), "opensearch")
    assert elsewhere(found) == {
        "cluster.name": "the variable cluster.name",
        "node.name": "the variable node.name",
        "processors": "the variable processors",
        "xpack.security.transport.ssl.verification_mode": (
            "the variable ES_SETTING_XPACK_SECURITY_TRANSPORT_SSL_VERIFICATION__MODE"
        ),
        "plugins.security.disabled": "the variable DISABLE_SECURITY_PLUGIN",
        "path.repo": "the argument -Epath.repo",
        "node.attr.zone": "the argument -Enode.attr.zone",
    }
    places = [each.place for each in found if not each.setting]
    assert places == [
        "the variable OPENSEARCH_JAVA_OPTS",
        "the variables of Secret more",
        "the variables of ConfigMap others",
    ]
    (said,) = judge_from_pod("data", found).reasons
    assert said.code == "settings_of_pod"
    assert "hunter" not in str(found) + said.sentence()


def test_a_pod_without_settings_of_its_own_says_nothing() -> None:
    assert not judge_from_pod("data", from_pod(spec(), "opensearch")).reasons


AGENT = [{"name": "http", "containerPort": 9200}, {"name": "agent", "containerPort": 9443}]


@pytest.mark.parametrize(
    ("probe", "asks"),
    [
        ({"httpGet": {"path": "/_cluster/health", "port": 9200}}, "httpGet /_cluster/health on port 9200"),
        ({"httpGet": {"port": "http"}}, "httpGet / on port http"),
        ({"tcpSocket": {"port": "http"}}, "tcpSocket on port http"),
        ({"grpc": {"port": 9400}}, "grpc on port 9400"),
        ({"exec": {"command": ["curl", "hunter2"]}}, "a command"),
    ],
)
def test_a_liveness_probe_that_would_start_a_stopped_server_is_refused_by_its_name(probe: Json, asks: str) -> None:
    found = probes_of(spec(ports=AGENT, livenessProbe=probe, startupProbe=probe), "opensearch")
    first, second = judge_probes("data", "opensearch", found, 9443).reasons
    assert (first.state.value, second.state.value) == ("refused", "passed")
    assert first.message == (
        f"The livenessProbe of container opensearch in pool data ({asks}) would restart the container while its server"
        " is stopped."
    )
    assert second.message.startswith(f"The startupProbe of container opensearch in pool data ({asks}) would restart")
    assert "hunter" not in first.sentence() + second.sentence()


@pytest.mark.parametrize("port", [9443, "agent"])
def test_a_probe_of_the_agent_and_a_readiness_probe_do_no_harm(port: int | str) -> None:
    probe = {"tcpSocket": {"port": port}}
    ready = {"httpGet": {"port": 9200}}
    found = probes_of(spec(ports=AGENT, livenessProbe=probe, startupProbe=probe, readinessProbe=ready), "opensearch")
    assert not judge_probes("data", "opensearch", found, 9443).reasons


def test_a_signal_to_process_1_is_refused_where_it_is_not_the_server() -> None:
    assert not judge_signal("data", shares_processes(spec())).reasons
    for field in ("shareProcessNamespace", "hostPID"):
        (said,) = judge_signal("data", shares_processes({**spec(), field: True})).reasons
        assert (said.state.value, said.code) == ("refused", "process_namespace_shared")


@pytest.mark.parametrize(
    ("mounts", "volumes", "stays"),
    [
        ([], [], (True, False, False)),
        ([mount("/usr/share/opensearch/data")], [volume(emptyDir={})], (True, False, False)),
        ([mount("/usr/share/opensearch/plugins")], [volume(emptyDir={})], (True, True, False)),
        ([mount("/usr/share/opensearch")], [volume(persistentVolumeClaim={"claimName": "x"})], (True, True, True)),
        ([mount("/usr/share/opensearch/plugins", readOnly=True)], [volume(emptyDir={})], (False, False, False)),
        ([mount("/usr/share/opensearch/plugins")], [volume(image={"reference": "p:1"})], (False, False, False)),
    ],
)
def test_plugins_outlive_a_process_or_a_container_as_their_directory_does(
    mounts: list[Json], volumes: list[Json], stays: tuple[bool, bool, bool]
) -> None:
    found = plugins_survive(mounts_of(spec(*mounts, volumes=volumes), "opensearch"), "/usr/share/opensearch/plugins")
    assert (found.process, found.container, found.pod) == stays


def test_each_changed_part_of_a_template_needs_a_new_pod_and_tells_no_value() -> None:
    before = spec(env=[{"name": "A", "value": "hunter1"}, {"name": "B", "value": "1"}], resources={})
    after = spec(env=[{"name": "A", "value": "hunter2"}, {"name": "B", "value": "1"}], args=[])
    after["containers"][1]["resources"] = {"limits": {"memory": "4Gi"}}
    after["containers"][1]["image"] = "opensearch:3.8.1"
    after["nodeSelector"] = {"disk": "fast"}
    found = template_changes(before, after)
    assert found.named() == (
        "image of container opensearch",
        "nodeSelector",
        "resources of container opensearch",
        "variable A of container opensearch",
    )
    assert {each.way for each in found.changes} == {SettingEffect.NEW_POD}
    assert [each.sentence().split(" (")[0] for each in found.changes] == [
        "image of container opensearch changes",
        "nodeSelector is set",
        "resources of container opensearch is set",
        "variable A of container opensearch changes",
    ]
    assert "hunter" not in str(found.shown()) + repr(found)
    assert template_changes(before, spec(env=before["containers"][1]["env"], command=[])).strongest is None
