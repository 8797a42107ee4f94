"""The batches of a record over all runs: those of the current plan, ended ones, and the tries that were stopped.

The pools of the plan have the members that no batch has done yet.

A run that takes the members of a stopped batch again plans them again. Its batch keeps the earlier try, so that both
are shown as one batch, and counted once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .phases import Deed

PENDING = "pending"
UNDER_WAY = {Deed.UPGRADE: "upgrading", Deed.RESTART: "restarting"}
DONE = {Deed.UPGRADE: "upgraded", Deed.RESTART: "restarted"}
STATUSES = (PENDING, *UNDER_WAY.values(), *DONE.values())
BATCH_STATES = ("pending", "upgrading", "done", "failed", "waiting")
NOT_ENDED = ("upgrading", "waiting")
KEPT_TRIES = 10
"""Earlier tries of a batch that are kept: the first one, and the newest."""
UNTOUCHED = "untouched"
"""The action of a member that was not touched."""

LEFT = {"failed": "stopped", "upgrading": "interrupted", "waiting": "paused"}
"""The words for a try that was followed by another, by the state in which its run left it."""

Items = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class ImageRecord:
    """The image of one member before and after its batch."""

    member: str
    before: str
    """The image that it ran when the upgrade first planned it."""
    after: str
    """The image to which its batch leads."""


@dataclass(frozen=True)
class BatchRecord:
    """One batch of the plan and how far it came; `took` and `waited` are the results of the modules."""

    name: str
    pools: tuple[str, ...]
    members: tuple[str, ...]
    state: str = "pending"
    run: str = ""
    started: str = ""
    ended: str = ""
    took: Items = ()
    waited: Items = ()
    cures: bool = False
    """Whether its members are only brought back on the current version of their pool, and upgraded in a later batch."""
    target_version: str = ""
    """The intermediate version that it leads to, in a chain of upgrades; empty if it is the target of the upgrade."""
    health: str = ""
    """The word of the system for its health when the gate of this batch had passed."""
    health_away: str = ""
    """The same while its members were away; empty if it was not observed."""
    went: str = ""
    """The time at which its first member went down; empty before that, or where no module has noted it."""
    outdated: tuple[str, ...] = ()
    """Its members that ran the target version already, and were replaced for another reason: a changed template."""
    images: tuple[ImageRecord, ...] = ()
    """The images of its members, where a system names them."""
    green_seconds: float | None = None
    """Seconds from its end until the next gate first found all whole; None if no gate has seen it."""
    tries: tuple[BatchRecord, ...] = ()
    """Earlier tries of its members, by runs that did not finish them, the oldest first. They have none themselves."""

    def come_to(self, state: str, run: str, at: str, took: Items, waited: Items) -> BatchRecord:
        """The batch after it has started or changed its state in this run, with the results so far."""
        started, ended = at if state == "upgrading" else self.started, "" if state in NOT_ENDED else at
        return replace(self, state=state, run=run, started=started, ended=ended, took=took, waited=waited)

    @property
    def led(self) -> frozenset[tuple[str, str]]:
        """Its members, each with the intermediate version: in a chain, several batches have the same members."""
        return frozenset((self.target_version, name) for name in self.members)

    @property
    def upgraded(self) -> tuple[str, ...]:
        """The members that run the target version once the batch is done."""
        return () if self.cures or self.target_version else self.members

    @property
    def touched(self) -> bool:
        """Whether one of its members was touched."""
        return any(each.get("action") != UNTOUCHED for each in self.took)

    @property
    def begun(self) -> str:
        """The time at which it, or the first of its tries, has begun; empty before that."""
        return min((each.started for each in (*self.tries, self) if each.started), default="")


def batches_of(
    plan: Mapping[str, Any], earlier: Sequence[BatchRecord] = (), updated: str = ""
) -> tuple[BatchRecord, ...]:
    """The batches of a plan, after those of earlier runs of the same upgrade that are not planned again.

    `updated` is the time at which the earlier ones were last written, which ends those that a killed run left.
    """
    after = str(plan.get("image") or "")
    batches = tuple(_batch_of(each, earlier, plan["before"], after) for each in plan["batches"])
    going = {each for batch in batches for each in batch.led}
    kept = _kept(earlier, going, plan, updated)
    return _named_apart(kept, earlier, batches) + tuple(_with_tries(batches, earlier, updated))


def with_done(batches: Sequence[BatchRecord], run: str, done: Sequence[Mapping[str, Any]]) -> tuple[BatchRecord, ...]:
    """The batches, of which those in `done` are done: each of these has its `name` and the times of start and end."""
    times = {each["name"]: each for each in done}
    return tuple(
        replace(one, state="done", run=run, started=times[one.name]["started"], ended=times[one.name]["ended"])
        if one.name in times
        else one
        for one in batches
    )


def left_by_run(batches: Sequence[BatchRecord], updated: str) -> tuple[BatchRecord, ...]:
    """The batches once no run works on them: one that was under way was stopped. See `batches_of` for `updated`."""
    return tuple(replace(one, state="failed", ended=updated) if one.state == "upgrading" else one for one in batches)


def _batch_of(
    planned: Mapping[str, Any], earlier: Sequence[BatchRecord], before: Mapping[str, Any], after: str
) -> BatchRecord:
    """A planned batch. A member that is down does not show why it was replaced; an earlier run has noted that."""
    members = tuple(planned["members"])
    noted_before = {name for each in earlier for name in each.outdated}
    outdated = {*(planned.get("outdated") or ())} | {n for n in members if n in noted_before and before.get(n) is None}
    return BatchRecord(
        planned["name"],
        tuple(planned["pools"]),
        members,
        cures=planned["cures"],
        target_version=planned.get("target_version") or "",
        outdated=tuple(name for name in members if name in outdated),
        images=tuple(_images(planned.get("images") or {}, after, earlier)),
    )


def _images(running: Mapping[str, str], after: str, earlier: Sequence[BatchRecord]) -> Iterator[ImageRecord]:
    """The images of planned members. A killed run may have changed an image; the former one is then in its record."""
    noted = {each.member: each for batch in earlier if batch.state != "done" for each in batch.images}
    for member, image in running.items():
        known = noted.get(member)
        yield known if known is not None and known.after == after else ImageRecord(member, image, after)


def _with_tries(batches: Sequence[BatchRecord], earlier: Sequence[BatchRecord], updated: str) -> Iterator[BatchRecord]:
    """The planned batches with the earlier tries of their members, each at the first batch that has one of these."""
    left = [each for batch in earlier for each in (*batch.tries, _as_try(batch, updated)) if _counts(each)]
    for batch in batches:
        ours = [each for each in left if not each.led.isdisjoint(batch.led)]
        left = [each for each in left if each not in ours]
        ours.sort(key=lambda each: each.started)
        # The first try has the time at which the batch started.
        yield replace(batch, tries=(*ours[:1], *ours[1:][1 - KEPT_TRIES :]))


def _as_try(batch: BatchRecord, updated: str) -> BatchRecord:
    return replace(batch, tries=(), ended=batch.ended or updated)


def _counts(batch: BatchRecord) -> bool:
    """Whether it counts as a try. A pass that only waited does not: the next one waits for the same."""
    brought_back = batch.cures and batch.state == "done"
    return bool(batch.started) and (batch.state != "waiting" or batch.touched) and not brought_back


def _kept(
    batches: Sequence[BatchRecord], going: set[tuple[str, str]], plan: Mapping[str, Any], updated: str
) -> tuple[BatchRecord, ...]:
    """The earlier batches that are not planned again; those that a run left before they were done may be done.

    One is done if its members run the target version. One for an intermediate version is done as well, because it is
    planned again until that version is reached. If it never started, it was not needed.
    """
    there = {name for name, version in plan["before"].items() if version == plan["target_version"]}
    return tuple(
        replace(each, state="done", ended=each.ended or (updated if each.begun else ""))
        if each.target_version or there.issuperset(each.members)
        else each
        for each in batches
        if going.isdisjoint(each.led) and (each.begun or not each.target_version)
    )


def _named_apart(
    kept: Sequence[BatchRecord], earlier: Sequence[BatchRecord], planned: Sequence[BatchRecord]
) -> tuple[BatchRecord, ...]:
    """The earlier batches under names that the plan does not use: each plan counts its own batches from one."""
    begun = sorted((each for batch in earlier for each in (*batch.tries, batch)), key=lambda each: each.started)
    numbers = {run: number for number, run in enumerate(dict.fromkeys(each.run for each in begun if each.run), 1)}
    taken = {each.name for each in planned}
    found = list[BatchRecord]()
    for each in kept:
        name = f"{each.name} (run {numbers[each.run]})" if each.name in taken and each.run else each.name
        found.append(replace(each, name=name))
        taken.add(name)
    return tuple(found)


@dataclass(frozen=True)
class PoolRecord:
    """One pool of the plan."""

    name: str
    status: str
    """It is `pending` before its first batch begins, `upgraded` when no member is left, and `upgrading` in between.
    Those of a restart are `restarted` and `restarting`."""
    left: tuple[str, ...] = ()
    """Its members that do not run the target version yet, or are not restarted yet."""


def pools_of(plan: Mapping[str, Any]) -> tuple[PoolRecord, ...]:
    """The pools of a plan, which is the result of pool_order, in its order."""
    target, before, deed = plan["target_version"], plan["before"], deed_of(plan)
    going = {name for batch in plan["batches"] for name in batch["members"]}

    def is_left(name: str) -> bool:
        return name in going if deed is Deed.RESTART else before.get(name) != target

    return tuple(_advanced(each, [name for name in each["members"] if is_left(name)], deed) for each in plan["pools"])


def ahead(plan: Mapping[str, Any]) -> int:
    """The number of members that run the target version while others do not: an upgrade to it was started."""
    versions = [str(version).partition(" ")[0] for version in plan["before"].values() if version is not None]
    there = versions.count(plan["target_version"])
    return there if there < len(versions) else 0


def deed_of(plan: Mapping[str, Any]) -> Deed:
    """The kind of work that a plan is for."""
    return Deed(plan.get("deed") or Deed.UPGRADE)


def _advanced(pool: Mapping[str, Any], left: Collection[str], deed: Deed) -> PoolRecord:
    half = deed is Deed.UPGRADE and len(left) < len(pool["members"])
    return PoolRecord(pool["name"], DONE[deed] if not left else UNDER_WAY[deed] if half else PENDING, tuple(left))


def outside_of(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """The members of the cluster that are in no pool of the plan, and do not run the target version."""
    members = {*plan["members"]} - plan["before"].keys()
    return tuple(name for name in plan["left"] if name in members)


def rolled(
    pools: Collection[PoolRecord], members: Collection[str], deed: Deed, *, done: bool
) -> tuple[PoolRecord, ...]:
    """The pools after a batch of these members has begun, or is `done`."""
    return tuple(_rolled(pool, members, deed, done=done) for pool in pools)


def _rolled(pool: PoolRecord, members: Collection[str], deed: Deed, *, done: bool) -> PoolRecord:
    going = {*members} & {*pool.left}
    if not going:
        return pool
    left = tuple(name for name in pool.left if name not in going) if done else pool.left
    return replace(pool, status=UNDER_WAY[deed] if left else DONE[deed], left=left)
