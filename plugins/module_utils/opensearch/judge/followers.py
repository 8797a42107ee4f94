"""The clusters that follow indices of this one are to be upgraded before it. Pure.

A follower that is older than its leader rejects settings and mappings that it does not know, and, when it has to copy
files, those of a newer Lucene; then its replication fails. So both products have followers upgraded first, and of
clusters that follow each other the replication stopped before (OpenSearch documentation, Rolling upgrade, Cross-cluster
replication; Elasticsearch guide, Upgrading clusters using cross-cluster replication). A leader does not know
the versions of its followers, so this is a remark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...common.verdict import Reason, as_verdict, remark
from ...common.words import enumerate_few
from ..observe.version import Version


@as_verdict
def judge_followers(followers: Mapping[str, Collection[str]], target: Version) -> Iterator[Reason]:
    """A remark on each cluster that follows indices of this one."""
    for cluster, indices in sorted(followers.items()):
        yield remark(
            "followed",
            f"Cluster {cluster} follows indices of this one: {enumerate_few(indices)}. If it is older than"
            f" {target}, its replication may fail once this cluster is upgraded.",
            f"Upgrade {cluster} first, unless it is on {target} already. If this cluster follows it as well, stop the"
            " replication before either is upgraded, and start it again afterwards.",
        )


def unknown(why: str) -> Reason:
    """The remark that the followers are not known."""
    return remark(
        "followers_unknown",
        f"It is not known whether other clusters follow indices of this one. {why}",
        "If any do, upgrade them first. A plan names them with the permission indices:monitor/stats on all indices.",
    )
