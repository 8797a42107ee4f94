"""The demo installer of the security plugin, which the image of OpenSearch runs at each start. Pure.

From 2.12 on it needs a password for the user admin and exits with 1 without one; then the container exits, too,
whatever users the cluster has already (opensearch-docker-entrypoint.sh; sources of the security plugin,
SecuritySettingsConfigurer.updateAdminPassword; OpenSearch documentation, Setting up a demo configuration). It does
nothing if opensearch.yml has a setting of the plugin already (checkIfSecurityPluginIsAlreadyConfigured).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...common.verdict import Reason, as_verdict, refused, remark
from ..observe.version import Version
from .plugins import PoolPlugins

SINCE = Version(2, 12, 0)
PLUGIN = "opensearch-security"
PASSWORD = "OPENSEARCH_INITIAL_ADMIN_PASSWORD"  # noqa: S105 - the name of a variable
SWITCHES = ("DISABLE_INSTALL_DEMO_CONFIG", "DISABLE_SECURITY_PLUGIN")
"""The variables that keep the image from running the installer if they are true."""


@as_verdict
def judge_demo_installer(pool: PoolPlugins, container: str, target: Version) -> Iterator[Reason]:
    """Whether the template of a pool that comes from before 2.12 has the password that the installer will want.

    Nothing is known of a container with a command of its own, nor of an opensearch.yml that is mounted: it has settings
    of the plugin as a rule.
    """
    of: Mapping[str, Any] = next(
        (one for one in pool.template.get("containers") or () if one.get("name") == container), {}
    )
    older = any(PLUGIN in each.plugins and each.version and each.version < SINCE for each in pool.installed.values())
    if target.elasticsearch or target < SINCE or not older or of.get("command") or _is_configured(of, pool.home):
        return
    given = {str(each.get("name")): each for each in of.get("env") or ()}
    if PASSWORD in given and (given[PASSWORD].get("valueFrom") or given[PASSWORD].get("value")):
        return
    if any(_may_be_true(given[name]) for name in SWITCHES if name in given):
        return
    message = (
        f"The template of pool {pool.name} has no variable {PASSWORD}. The image runs the demo installer of the"
        f" security plugin at each start, and from {SINCE} on that fails without this password: no member would start"
        f" on {target}."
    )
    remedy = (
        f"Set {PASSWORD} to a strong password in the environment of container {container}; a cluster that has its"
        " users keeps them. Or configure the plugin in opensearch.yml, with your own certificates, and set"
        f" {SWITCHES[0]} to true. To continue anyway, set skip_checks: [plugins]."
    )
    if of.get("envFrom"):
        yield remark("demo_password_missing", f"{message} It may come with envFrom.", remedy)
    else:
        yield refused("demo_password_missing", message, remedy)


def _may_be_true(variable: Mapping[str, Any]) -> bool:
    return bool(variable.get("valueFrom")) or str(variable.get("value")) == "true"


def _is_configured(container: Mapping[str, Any], home: str) -> bool:
    """Whether opensearch.yml, or the folder that it is in, is mounted."""
    paths = {str(mount.get("mountPath")).rstrip("/") for mount in container.get("volumeMounts") or ()}
    return bool(paths & {f"{home}/config", f"{home}/config/opensearch.yml"})
