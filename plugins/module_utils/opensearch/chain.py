"""The order of an upgrade over several versions: the hop that is due by the real state, and what is known of the rest.

The plan of each run has the batches of one hop. Its digest covers the whole upgrade, so that one consent is enough,
and a run after a killed one goes on in the hop that the members are in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..common.errors import Refusal, refusal
from ..common.task import Outcome, Task
from ..common.verdict import combine
from ..common.words import counted, enumerate_few
from ..run.record import kept_in
from ..run.record.record_keeping import read_records
from . import pool_order
from .both_sides import see
from .judge.batches import Cutting
from .judge.hops import VersionHop, hop_due, hops_in, is_between, judge_added, judge_hops, judge_left_below
from .judge.pools import Pool
from .judge.upgrade_path import target_of
from .observe.version import Version

LATER = "later_hops"
"""The field of a plan with the hops that come after the one that is due."""


def run(
    task: Task, changed: Callable[[pool_order.Drawn, Version], pool_order.Drawn] = lambda drawn, _target: drawn
) -> Outcome:
    """The order of the hop that is due, or of the upgrade if it has no others.

    Raises:
        Refusal: the hops cannot be read, or it is not known in which of two a member went away.
    """
    params = task.params
    if not params.get("hops"):
        order = pool_order.run(task, changed)
        return replace(order, more={**order.more, "version": order.more.get("target_version")})
    target = target_of(params["target_version"])
    hops = hops_in(params["hops"], target, params["image"])
    if params.get("tasks_emptied"):
        said = "Kubernetes nodes are to be emptied (tasks_emptied), and the upgrade has several hops."
        raise refusal("emptied_by_node", said, "Upgrade hop by hop, or leave tasks_emptied out.")
    drawn = _on_hosts(task, hops) if pool_order.on_hosts(params) else _in_pods(task, hops)
    return _planned(task, hops, drawn)


def options_of_hop(params: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a task about the hop that is due; those of the upgrade if it has no others."""
    return {**params, **more["options_of_hop"]} if "options_of_hop" in more else dict(params)


@dataclass(frozen=True)
class _PoolsOfHops:
    """The pools as they are for the hop that is due, and as they will be for the last one and for those in between."""

    due: int
    now: pool_order.Drawn
    last: pool_order.Drawn
    later: Sequence[Sequence[Pool]] = ()
    """The pools of each later hop, the last one included; none on plain hosts."""


def _in_pods(task: Task, hops: Sequence[VersionHop]) -> _PoolsOfHops:
    seen, troubles = see(task)

    def drawn(hop: VersionHop) -> pool_order.Drawn:
        params = {**task.params, "image": hop.image}
        return pool_order.drawn_from_sets(seen, troubles, params, hop.version)

    versions = [member.version for member in seen.state.members.values()]
    every, due = [drawn(hop) for hop in hops], hop_due(hops, versions)
    if is_between(hops, due, versions):
        # The template of a pool shows in which hop its member went away.
        away = [pool for pool in every[due].pools if any(each.version is None for each in pool.members)]
        due -= bool(away) and all(pool.image != pool.target_image for pool in away)
    return _PoolsOfHops(due, every[due], every[-1], [each.pools for each in every[due + 1 :]])


def _on_hosts(task: Task, hops: Sequence[VersionHop]) -> _PoolsOfHops:
    drawn = pool_order.drawn_from_hosts(task)
    versions = [member.version for member in drawn.state.members.values()]
    due = hop_due(hops, versions)
    away = [each.name for pool in drawn.pools for each in pool.members if each.version is None]
    if away and is_between(hops, due, versions):
        due -= _begun_last(task, drawn.state.uuid, hops, due, away) != str(hops[due].version)
    return _PoolsOfHops(due, drawn, drawn)


def _begun_last(task: Task, cluster: str, hops: Sequence[VersionHop], due: int, away: Collection[str]) -> str:
    """The version of the hop in which the last batch with these members started, by the record.

    Raises:
        Refusal: no record shows it.
    """
    target = str(hops[-1].version)
    try:
        records, _remarks = read_records(kept_in.store_of(task.params))
    except Refusal:
        records = {}
    begun = [
        each
        for record in records.values()
        if (record.cluster, record.target_version) == (cluster, target)
        for each in record.tries
        if each.started and not {*away}.isdisjoint(each.members)
    ]
    if not begun:
        before, after = hops[due - 1].version, hops[due].version
        raise refusal(
            "hop_unclear",
            f"{enumerate_few(sorted(away))} {'is' if len(away) == 1 else 'are'} away, all others run {before}, and no"
            f" record shows whether the hop to {after} has begun there.",
            f"Start it on the version of its data, {before} or {after}, then run again.",
        )
    return max(begun, key=lambda each: each.started).target_version or target


def _planned(task: Task, hops: Sequence[VersionHop], drawn: _PoolsOfHops) -> Outcome:
    due, hop, target = drawn.due, hops[drawn.due], hops[-1].version
    own = {"target_version": str(hop.version), "image": hop.image}
    given = replace(task, params={**task.params, **own})
    named = replace(drawn.now, named=drawn.last.named)
    order = pool_order.planned(given, named, hop.version, _conditions(hops), aim=target)
    later = hops[due + 1 :]
    left = judge_left_below(order.more["left"], hop, later[0] if later else None)
    verdict = combine((order.verdict, judge_hops(hops), left, judge_added(given.params["extra_member"])))
    on_way = {"target_version": str(hop.version)} if later else {}
    # Each later hop has all members, as the batches of the last one show.
    params = task.params
    cutting = Cutting(params["batching"], params["max_unavailable"], hands_over=params["hand_over"])
    each = len(pool_order.cut(drawn.last.pools, target, (), cutting, drawn.now.state)) if later else 0
    more = {
        "target_version": str(target),
        "version": str(hop.version),
        "batches": [{**batch, **on_way} for batch in order.more["batches"]],
        "hop": {
            "version": str(hop.version),
            "number": due + 1,
            "of": len(hops),
            "following": str(later[0].version) if later else "",
        },
        "later_batches": each * len(later),
        LATER: [str(one.version) for one in later],
        "images_of_later_hops": [
            {"version": str(one.version), "pool": pool.name, "container": pool.container, "image": pool.target_image}
            for one, pools in zip(later, drawn.later, strict=False)
            for pool in pools
        ],
        "options_of_hop": own,
        "details": _details(hops, due, each),
    }
    return replace(order, verdict=verdict, more={**order.more, **more})


def _conditions(hops: Sequence[VersionHop]) -> list[str]:
    """The words for the hops that consent covers. An image that is derived is that of the template, which it covers."""
    return [f"hop {hop.version} {hop.image or ''}".strip() for hop in hops[:-1]]


def _details(hops: Sequence[VersionHop], due: int, batches: int) -> list[str]:
    """A line for each hop."""

    def about(number: int) -> str:
        if number < due:
            return "done"
        if number == due:
            return "the batches below"
        return f"{counted(batches, 'batch')} with all members, planned and proven again before the first one"

    return [f"hop {number + 1} of {len(hops)}: to {hop.version}: {about(number)}" for number, hop in enumerate(hops)]
