"""The demo installer of the security plugin, which wants a password from 2.12 on."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.demo_installer import (
    PASSWORD,
    PLUGIN,
    judge_demo_installer,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.plugins import PoolPlugins
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.plugins import (
    Installed,
    parse_installed,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version

HOME = "/usr/share/opensearch"
FILE = f"{HOME}/config/opensearch.yml"


def said(container: dict[str, Any], version: str = "2.11.1", target: str = "2.19.6", plugin: str = PLUGIN) -> Any:
    installed = {"data-0": Installed(HOME, frozenset({plugin}), Version.parse(version))}
    pool = PoolPlugins("data", installed, {"containers": [{"name": "side"}, {"name": "server", **container}]})
    return [(one.code, one.state) for one in judge_demo_installer(pool, "server", Version.parse(target)).reasons]


REFUSED = [("demo_password_missing", State.REFUSED)]


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({}, REFUSED),
        ({"env": [{"name": "OPENSEARCH_JAVA_OPTS", "value": "-Xmx1g"}]}, REFUSED),
        ({"env": [{"name": PASSWORD, "value": ""}]}, REFUSED),
        ({"env": [{"name": "DISABLE_INSTALL_DEMO_CONFIG", "value": "false"}]}, REFUSED),
        ({"volumeMounts": [{"name": "data", "mountPath": f"{HOME}/data"}]}, REFUSED),
        ({"envFrom": [{"secretRef": {"name": "admin"}}]}, [("demo_password_missing", State.PASSED)]),
        ({"env": [{"name": PASSWORD, "value": "Long-and-strong-1"}]}, []),
        ({"env": [{"name": PASSWORD, "valueFrom": {"secretKeyRef": {"name": "admin", "key": "password"}}}]}, []),
        ({"env": [{"name": "DISABLE_INSTALL_DEMO_CONFIG", "value": "true"}]}, []),
        ({"env": [{"name": "DISABLE_SECURITY_PLUGIN", "value": "true"}]}, []),
        ({"volumeMounts": [{"name": "config", "mountPath": FILE, "subPath": "opensearch.yml"}]}, []),
        ({"volumeMounts": [{"name": "config", "mountPath": f"{HOME}/config/"}]}, []),
        ({"command": ["/bin/own"]}, []),
    ],
)
def test_the_password_that_the_template_lacks_is_named(container: dict[str, Any], expected: Any) -> None:
    assert said(container) == expected


def test_only_a_way_over_2_12_with_the_security_plugin_is_told() -> None:
    assert said({}, "2.12.0") == []
    assert said({}, "2.9.0", "2.11.1") == []
    assert said({}, plugin="opensearch-knn") == []
    assert said({}, "1.3.20", "2.12.0") == REFUSED


def test_a_member_tells_its_version_with_its_plugins() -> None:
    node = {"name": "data-0", "version": "2.11.1", "settings": {"path": {"home": HOME}}, "plugins": []}
    assert parse_installed({"nodes": {"x": node}})["data-0"].version == Version.parse("2.11.1")
    del node["version"]
    assert parse_installed({"nodes": {"x": node}})["data-0"].version is None
