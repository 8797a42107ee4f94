"""The way back of a pool whose new pods do not start. Pure.

A server of a newer version makes the data folder of its member unreadable for the older one as soon as it starts, even
if it never joins: OpenSearch 2.19.6 ends with "indexCreatedVersionMajor is in the future: 10" on a folder on which
3.8.0 has looked for a cluster in vain (seen on real servers). So a pool goes back only while no process has started.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ...common.verdict import State, Verdict
from ..observe.version import Version


def with_former_version(
    verdict: Verdict, never_started: Collection[str], running: Collection[Version], target: Version
) -> Verdict:
    """The verdict on a batch that is refused, with the way back in the remedies of pods that have not started.

    `never_started` are the codes of such reasons, and `running` the versions of all members in the cluster. There is no
    way back once a member runs the target, and none is named while members run several versions.
    """
    codes = {reason.code for reason in verdict.deciding()} & {*never_started}
    if verdict.state is not State.REFUSED or not codes or len({*running}) != 1 or target in running:
        return verdict
    back = (
        f"To go back, since nothing has started on {target} yet: undo what else was changed in the pool, and run again"
        f" with target_version={next(iter(running))}."
    )
    reasons = (
        replace(each, remedy=f"{each.remedy} {back}".strip()) if each.code in codes else each
        for each in verdict.reasons
    )
    return Verdict(tuple(reasons))
