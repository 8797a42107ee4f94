# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The members that vote, those excluded from voting, and the elected manager."""

from __future__ import annotations

from ...common.reading import optional_text, within
from .answers import reading
from .client import OpenSearchClient
from .state import ClusterState, Voting, parse_voting


def observe_voting(client: OpenSearchClient) -> Voting:
    """The voting configurations and exclusions now.

    Raises:
        Refusal: the answer is missing or unreadable.
    """
    path = "/_cluster/state/metadata"
    answer = client.get(path, filter_path="metadata.cluster_coordination")
    with reading(f"GET {path}"):
        return within(answer, "metadata", lambda metadata: within(metadata, "cluster_coordination", parse_voting))


def observe_elected(client: OpenSearchClient, seen: ClusterState) -> str | None:
    """The id of the elected manager now, if any. The first major has another name for the field."""
    has_first_major = any(member.version.major == 1 for member in seen.members.values())
    name = "master_node" if has_first_major else "cluster_manager_node"
    answer = client.get(f"/_cluster/state/{name}", filter_path=name)
    with reading(f"GET /_cluster/state/{name}"):
        return optional_text(answer, name)
