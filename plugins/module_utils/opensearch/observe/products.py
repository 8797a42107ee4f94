"""The servers of this family, and all their differences that matter here. Pure data; only this module has them.

A member of Elasticsearch says so itself, by `build_flavor` in its answer to `GET _nodes`, which members of OpenSearch
do not have. The banner (`GET /`) is not asked: it costs a request, and a setting can make OpenSearch lie in it
(`compatibility.override_main_response_version`). The upgrade paths are in `judge/upgrade_path.py`.

Seen to be equal on Elasticsearch 8.18 and 8.19 and on OpenSearch 2.19 and 3.8: cluster state and routing table except
the name of the elected manager, health (a wait that ran out is 408 in both), settings with their free keys under
`cluster.metadata`, exclusions from voting, flush, explanations, recoveries, tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .version import Version


@dataclass(frozen=True)
class Product:
    """One server. Versions are those that members compare as (`Version`)."""

    name: str
    """The name that people know."""
    server: str
    """The name of its image and its container, and of its folder in the image."""
    manager_since: Version | None
    """The first version that calls the elected one `cluster_manager_node` in the cluster state, and no longer
    `master_node`; None if none does."""
    major_barrier: bool
    """Whether the elected manager refuses members that are below all others by a major version; otherwise it refuses
    every older version (server source, JoinTaskExecutor.ensureMajorVersionBarrier; NodeJoinExecutor
    .ensureVersionBarrier)."""
    synced_flush_before: Version | None = None
    """The first version in which an ordinary flush does all that a synced flush did (`_flush/synced`)."""
    shutdown_since: Version | None = None
    """The first version in which a restart of members can be registered (`_nodes/shutdown`); None if there is none."""

    @property
    def data_path(self) -> str:
        """The data path of the official image, whose working directory is the server's home (path.home)."""
        return f"/usr/share/{self.server}/data"

    @property
    def settings_file(self) -> str:
        """The file with the settings of a member."""
        return f"{self.server}.yml"

    @property
    def plugins_path(self) -> str:
        """The directory of plugins in the official image."""
        return f"/usr/share/{self.server}/plugins"

    @property
    def installer(self) -> str:
        """The program that installs plugins, as charts and operators run it when a pod starts."""
        return f"{self.server}-plugin"

    def flush_of(self, oldest: Version) -> str:
        """The last part of the path of the flush after which shards start without comparing their files."""
        return "_flush/synced" if self.synced_flush_before and oldest < self.synced_flush_before else "_flush"

    def elected_in(self, oldest: Version) -> str:
        """The name of the elected manager's field in the cluster state, which every member understands."""
        return "cluster_manager_node" if self.manager_since and oldest >= self.manager_since else "master_node"


OPENSEARCH = Product(
    name="OpenSearch",
    server="opensearch",
    manager_since=Version(2, 0, 0),
    major_barrier=True,
)
ELASTICSEARCH = Product(
    name="Elasticsearch",
    server="elasticsearch",
    manager_since=None,
    major_barrier=False,
    synced_flush_before=Version.parse("7.6.0"),
    shutdown_since=Version.parse("7.15.0"),
)


def product_of(version: Version) -> Product:
    """The product that this is a version of."""
    return ELASTICSEARCH if version.elasticsearch else OPENSEARCH


HEADER = "x-elastic-product"
"""The header by which each answer of Elasticsearch from 7.14 on names its product; OpenSearch sends none."""


@dataclass
class KnownProduct:
    """The servers that a client asks, as far as their answers have shown."""

    product: Product | None = None
    """None as long as no answer has shown it."""

    @property
    def name(self) -> str:
        """The name for the middle of a sentence."""
        return self.product.name if self.product else "the search cluster"

    @property
    def subject(self) -> str:
        """The name for the start of a sentence."""
        return self.name[:1].upper() + self.name[1:]

    def note_headers(self, headers: Mapping[str, Any]) -> None:
        """Learn from the headers of an answer. A missing one says nothing, since an older Elasticsearch sends none."""
        if any(name.lower() == HEADER and value == ELASTICSEARCH.name for name, value in headers.items()):
            self.product = ELASTICSEARCH

    def note_members(self, nodes: Any) -> None:
        """Learn from `nodes` of an answer to `GET _nodes`, whatever its form is."""
        infos = [info for info in nodes.values() if isinstance(info, dict)] if isinstance(nodes, dict) else []
        if any("version" in info for info in infos):
            self.product = ELASTICSEARCH if any("build_flavor" in info for info in infos) else OPENSEARCH
