"""The one definition of a member that is back: in the cluster, as another process than before, on the target version.

Pure: from the members of the cluster to a verdict.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...common.verdict import Reason, as_verdict, refused, waiting
from ..observe.state import ClusterMember
from ..observe.version import Version


@as_verdict
def judge_back(
    seen: Mapping[str, ClusterMember],
    names: Collection[str],
    target: Version | None,
    former: Mapping[str, str] | None = None,
) -> Iterator[Reason]:
    """Whether every named member is back, with one reason for each that is not.

    `former` holds the processes before (ephemeral ids): a process that died suddenly is listed for a while after its
    successor was started. A member that is not in `former` is back with any process.
    """
    reasons = (_reason(name, seen.get(name), target, (former or {}).get(name)) for name in sorted(names))
    return (reason for reason in reasons if reason)


def _reason(name: str, member: ClusterMember | None, target: Version | None, former: str | None) -> Reason | None:
    if member is None:
        return waiting("not_joined", f"{name} has not joined the cluster.", f"Look at the logs of {name}.", about=name)
    if member.ephemeral_id == former:
        return waiting(
            "not_restarted",
            f"{name} was not restarted: the process that was to be stopped is still in the cluster.",
            f"If this lasts, look at that process on the host of {name}: it still runs, or its host is cut off.",
            about=name,
        )
    if target is None or member.version == target:
        return None
    return refused(
        "wrong_version",
        f"{name} runs {member.version} and not {target}.",
        "Its image or package holds another version than its name says. Give the right one.",
    )
