"""The settings whose change needs more than to restart one member after the other, and why. Pure.

In a pattern `*` stands for any text. Of several rules for a setting the one with the most letters counts. A rolling
restart is right for every setting that members need not agree on. So the rules name those that they have to agree on,
those that are part of what a pod is, and those that belong to the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .known_settings import DYNAMIC, STATIC


class SettingEffect(str, Enum):
    """The work that a change of a setting needs to take effect, the least first."""

    DYNAMIC = "dynamic"
    """The members take it while they run, by the settings of the cluster."""
    ROLLING = "rolling"
    """The processes restart one after the other."""
    NEW_POD = "new_pod"
    """The pods are replaced one after the other."""
    COORDINATED = "coordinated"
    """All processes stop before the first one starts, since members with and without it cannot be one cluster."""
    NEVER = "never"
    """A member with data cannot change it."""

    @property
    def rank(self) -> int:
        """The place among the effects, from 0 for the least."""
        return tuple(SettingEffect).index(self)


@dataclass(frozen=True)
class Rule:
    """What a change of these settings needs, why, and where that is written."""

    pattern: str
    way: SettingEffect
    why: str
    source: str


REGISTERED = "ClusterSettings of OpenSearch 1.3, 2.11, 2.19 and 3.8 and of Elasticsearch 7.17 and 8.19"

_JOIN = "a member of another name is turned away at the handshake"
_TRANSPORT = "a member with TLS between members and one without it cannot talk to each other"
_CLIENTS = "each member answers by the new scheme, http or https, once it has restarted; members talk by the other port"
_TRUST = "the members have to trust the old and the new certificates until all have restarted"
_IDENTITY = "pods, voting and the record know a member by its name"
_FOLDER = "the data of the member would stay behind in the old folder"
_PORT = "the probes, the container and the Services of the pod name the port"
_SECURITY = "members with and without the security plugin cannot talk to each other"
_FORMED = "a cluster that has formed does not read it"
_PLUGIN = "source of the OpenSearch security plugin, OpenSearchSecurityPlugin and SSLConfigConstants"
_PLUGIN_DOCS = "OpenSearch documentation, Configuring TLS certificates"
_HTTP = (
    "source of the OpenSearch security plugin, OpenSearchSecurityPlugin.getHttpTransports, and of Security in X-Pack"
)
_XPACK = "source of Elasticsearch, XPackSettings; its guide, Encrypting communications"
_HANDSHAKE = "server source, TransportService.handshake"
_STORE = "server source, NodeEnvironment"
_KUBERNETES = "Kubernetes API, containerPort and probes are fields of a pod that cannot change"


def _rows(way: SettingEffect, why: str, source: str, *patterns: str) -> tuple[Rule, ...]:
    return tuple(Rule(pattern, way, why, source) for pattern in patterns)


RULES: tuple[Rule, ...] = (
    *_rows(SettingEffect.COORDINATED, _JOIN, _HANDSHAKE, "cluster.name"),
    *_rows(
        SettingEffect.COORDINATED,
        "a member that forms a cluster by itself does not look for others",
        "server source, DiscoveryModule and Coordinator",
        "discovery.type",
    ),
    *_rows(
        SettingEffect.COORDINATED,
        "the members have to speak one protocol to each other",
        "server source, NetworkModule",
        "transport.type",
    ),
    *_rows(
        SettingEffect.COORDINATED,
        "a member joins only with the attributes of the remote store that the others have",
        "server source, JoinTaskExecutor.ensureRemoteStoreNodesCompatibility",
        "node.attr.remote_store.*",
    ),
    *_rows(
        SettingEffect.COORDINATED,
        _TRANSPORT,
        _PLUGIN,
        "plugins.security.ssl.transport.enabled",
        "opendistro_security.ssl.transport.enabled",
    ),
    *_rows(
        SettingEffect.COORDINATED,
        "members with and without authentication do not accept each other's requests",
        _PLUGIN,
        "plugins.security.ssl_only",
        "opendistro_security.ssl_only",
    ),
    *_rows(SettingEffect.COORDINATED, _SECURITY, _PLUGIN, "plugins.security.disabled", "opendistro_security.disabled"),
    *_rows(
        SettingEffect.ROLLING,
        _CLIENTS,
        _HTTP,
        "plugins.security.ssl.http.enabled",
        "opendistro_security.ssl.http.enabled",
    ),
    *_rows(
        SettingEffect.DYNAMIC,
        "the members take it while they run",
        "source of the OpenSearch security plugin, SecuritySettings",
        "plugins.security_config.ssl_dual_mode_enabled",
        "opendistro_security_config.ssl_dual_mode_enabled",
    ),
    *_rows(
        SettingEffect.ROLLING,
        _TRUST,
        _PLUGIN_DOCS,
        "plugins.security.ssl.*",
        "opendistro_security.ssl.*",
        "plugins.security.nodes_dn",
        "opendistro_security.nodes_dn",
    ),
    *_rows(
        SettingEffect.ROLLING,
        "each member reads it when it starts",
        _PLUGIN,
        "plugins.security.*",
        "opendistro_security.*",
    ),
    *_rows(SettingEffect.COORDINATED, _TRANSPORT, _XPACK, "xpack.security.transport.ssl.enabled"),
    *_rows(
        SettingEffect.COORDINATED,
        "members with and without authentication do not accept each other's requests",
        _XPACK,
        "xpack.security.enabled",
    ),
    *_rows(SettingEffect.ROLLING, _CLIENTS, _HTTP, "xpack.security.http.ssl.enabled"),
    *_rows(SettingEffect.ROLLING, _TRUST, _XPACK, "xpack.security.transport.ssl.*"),
    *_rows(
        SettingEffect.ROLLING,
        "it is the licence of a cluster that has none yet; a licence changes by its API",
        "source of Elasticsearch, StartupSelfGeneratedLicenseTask",
        "xpack.license.self_generated.type",
    ),
    *_rows(SettingEffect.ROLLING, "each member reads it when it starts", _XPACK, "xpack.*"),
    *_rows(
        SettingEffect.NEW_POD,
        _PORT,
        _KUBERNETES,
        "http.port",
        "transport.port",
        "transport.tcp.port",
        "transport.profiles.*.port",
    ),
    *_rows(SettingEffect.NEVER, _IDENTITY, "docs/design.md, a pod stands for the member of its name", "node.name"),
    *_rows(SettingEffect.NEVER, _FOLDER, _STORE, "path.data", "path.home"),
    *_rows(
        SettingEffect.NEVER,
        "a member that finds a setting of an index in its configuration does not start",
        "server source, SettingsModule (node settings must not contain any index level settings)",
        "index.*",
    ),
    *_rows(
        SettingEffect.ROLLING,
        "a member that gives up its data does not start before its shards are gone",
        "server source, NodeEnvironment.ensureNoShardData; drain it first",
        "node.roles",
        "node.data",
        "node.master",
        "node.cluster_manager",
    ),
    *_rows(
        SettingEffect.ROLLING,
        _FORMED,
        "server source, ClusterBootstrapService",
        "cluster.initial_master_nodes",
        "cluster.initial_cluster_manager_nodes",
    ),
    *(Rule(name, SettingEffect.DYNAMIC, "the members take it while they run", REGISTERED) for name in sorted(DYNAMIC)),
    *(Rule(name, SettingEffect.ROLLING, "each member reads it when it starts", REGISTERED) for name in sorted(STATIC)),
)
"""All rules; of two for one pattern the first counts."""
