"""The settings that the target version does not have any more, or calls deprecated, and where each is set. Pure.

A member with such a setting in its own configuration ends at once (`unknown setting`, seen on 3.8.0). An index with
one has no copy on a member of that version: the server makes the index there only with settings that it knows
(`IndicesService.createIndexService`; five failed attempts seen from 2.19.6 to 3.8.0, then yellow), and archives them
only when a whole cluster starts again. A setting of the cluster stays without effect until the next change of settings.

Members report the settings and roles with which they were started, so a configuration that has been fixed since needs
the check skipped. For a target above the newest version of the table the plan says that it was not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ..observe.configured import Configured, Names
from ..observe.settings import ARCHIVED, SCOPES, Settings
from ..observe.state import ClusterState
from ..observe.version import Version
from .retired_settings import NEWEST, Retired, matching, retired_in

NEVERTHELESS = " To continue anyway, set skip_checks: [settings]."
SEARCH, WARM = "search", "warm"
WARM_SINCE = Version(3, 0, 0)
"""The first version in which searchable snapshots are on members with the role `warm`, and the role `search` is for
search replicas and stands alone (OpenSearch documentation, Searchable snapshots; server source, RoutingPool.getNodePool
and DiscoveryNodeRole.SEARCH_ROLE; both read in the jars of 2.19.6, 3.4.0 and 3.8.0)."""


@as_verdict
def judge_configured(
    configured: Configured, settings: Settings, state: ClusterState, target: Version
) -> Iterator[Reason]:
    """Whether every member starts, and every index has its copies, with its settings on the target version."""
    older = {each.name for each in state.members.values() if each.version < target}
    if older and (target.elasticsearch or target > Version.parse(NEWEST)):
        product = "Elasticsearch" if target.elasticsearch else "OpenSearch"
        yield remark(
            "settings_unknown",
            f"It is not known which settings {product} {target} does not have any more: this collection knows those of"
            f" OpenSearch up to {NEWEST}.",
            "Read the breaking changes in its release notes.",
        )
    if target.elasticsearch or not older:
        return
    members = {name: names for name, names in configured.members.items() if name in older}
    by_setting = _by_setting(members), _by_setting(configured.indices)
    gone = {each.name for each in retired_in(target) if each.removed}
    for retired in retired_in(target):
        # A pattern of deprecated ones also fits some that are removed, and reported by their own names.
        reported = frozenset() if retired.removed else gone
        started, of_indices = (
            {name: by[name] for name in matching(retired, by) if name not in reported} for by in by_setting
        )
        scoped = [
            (scope, name)
            for scope in SCOPES
            for name in matching(retired, settings.scope(scope))
            if name not in reported
        ]
        if retired.removed:
            yield from (_ends_members(name, where, retired, target) for name, where in started.items())
            yield from (_fails_shards(name, where, retired, target) for name, where in of_indices.items())
            yield from (_is_forgotten(name, scope, settings, retired, target) for scope, name in scoped)
        else:
            yield from _deprecated(retired, started, of_indices, scoped, target)
    yield from _archived(configured.indices)


@as_verdict
def judge_search_role(state: ClusterState, target: Version) -> Iterator[Reason]:
    """Whether no member has the role `search` with a meaning that the target version does not give it."""
    with_role = [each for each in state.members.values() if SEARCH in each.roles and each.version < WARM_SINCE]
    if target.elasticsearch or target < WARM_SINCE or not with_role:
        return
    combined = [each.name for each in with_role if len(each.roles) > 1]
    snapshots = [index.name for index in state.indices.values() if index.of_snapshot]
    since = f"From OpenSearch {WARM_SINCE} on"
    remedy = (
        f"Give them the role {WARM} in place of {SEARCH} in node.roles, for their start on the target version. Members"
        " report the roles of their start, so if that is done, continue with skip_checks: [search_role]."
    )
    if combined:
        yield refused(
            "search_role_changed",
            f"These members have the role {SEARCH} together with others: {enumerate_few(combined)}. {since} a member"
            " with both does not start.",
            remedy,
        )
    if snapshots:
        yield refused(
            "search_role_changed",
            f"Searchable snapshots ({enumerate_few(snapshots)}) are on members with the role {SEARCH}:"
            f" {enumerate_few(each.name for each in with_role)}. {since} only members with the role {WARM} hold them,"
            " and only once the elected manager runs that version, too: until then they are red.",
            f"{remedy} Accept with allow_red_indices that they are red for that time.",
        )


def _by_setting(names: Names) -> Mapping[str, list[str]]:
    """The members, or indices, that have a setting, by its name."""
    found: dict[str, list[str]] = {}
    for each, settings in names.items():
        for setting in settings:
            found.setdefault(setting, []).append(each)
    return found


def _ends_members(name: str, members: list[str], retired: Retired, target: Version) -> Reason:
    return refused(
        "setting_removed",
        f"Members have the setting {name} in their own configuration: {enumerate_few(members)}. OpenSearch {target}"
        " does not know it, and ends at once where it is set.",
        f"Take it out of opensearch.yml, or of the environment of the container, before these members start again."
        f"{_instead(retired)} Members report the values of their start, so if that is done, continue with skip_checks:"
        " [settings].",
    )


def _fails_shards(name: str, indices: list[str], retired: Retired, target: Version) -> Reason:
    return refused(
        "index_setting_removed",
        f"Indices have the setting {name}: {enumerate_few(indices)}. OpenSearch {target} does not know it, and no copy"
        " of their shards starts on a member of that version.",
        f"Close each of these indices, set it to null there (PUT <index>/_settings), and open the index again."
        f"{_instead(retired)}{NEVERTHELESS}",
    )


def _is_forgotten(name: str, scope: str, settings: Settings, retired: Retired, target: Version) -> Reason:
    return remark(
        "cluster_setting_removed",
        f"The {scope} setting {name} = {settings.scope(scope)[name]!r} is unknown to OpenSearch {target}: it has no"
        " effect there, and goes with the first change of settings.",
        f"Set it to null if it is no longer wanted.{_instead(retired)}",
    )


def _deprecated(
    retired: Retired,
    started: Mapping[str, list[str]],
    of_indices: Mapping[str, list[str]],
    scoped: list[tuple[str, str]],
    target: Version,
) -> Iterator[Reason]:
    for name in sorted({*started, *of_indices, *(name for _scope, name in scoped)}):
        places = [f"in the {scope} settings of the cluster" for scope, each in scoped if each == name]
        if name in started:
            places.append(f"in the configuration of {enumerate_few(started[name])}")
        if name in of_indices:
            places.append(f"on {enumerate_few(of_indices[name])}")
        yield remark(
            "setting_deprecated",
            f"The setting {name}, which is set {' and '.join(places)}, is deprecated in OpenSearch {target}: a later"
            " version may not know it.",
            f"Take it out when you can.{_instead(retired)}",
        )


def _archived(indices: Names) -> Iterator[Reason]:
    for name, where in sorted(_by_setting(indices).items()):
        if name.startswith(ARCHIVED):
            yield remark(
                "index_setting_archived",
                f"The setting {name.removeprefix(ARCHIVED)} of {enumerate_few(where)} is archived: no version that runs"
                " knows it, and it has no effect.",
            )


def _instead(retired: Retired) -> str:
    return f" In its place there is {retired.instead}." if retired.instead else ""
