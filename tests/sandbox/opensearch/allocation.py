"""The choice of a member for each copy, and the recoveries by which copies come to be started."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from tests.sandbox.opensearch.changed import Files, Staying, key_of
from tests.sandbox.opensearch.deciders import Said, against, against_staying, filter_of, refuses_all, takes
from tests.sandbox.opensearch.known import REBALANCE
from tests.sandbox.opensearch.model import Copy, Index, Member, Store, Unassigned
from tests.sandbox.opensearch.state import State
from tests.sandbox.opensearch.versions import Version

BALANCE_OF_SHARDS, BALANCE_OF_INDEX = 0.45, 0.55
WORTH_MOVING = 1.0 + BALANCE_OF_INDEX
"""The difference of weights that two members may have before a shard is moved."""
OLDEST_TAKES_OVER = Version(3, 9, 0)
"""From this version of the elected manager on the oldest copy takes over, with segment replication before it too."""


def decision(said: Iterable[Said]) -> str:
    """The decision of all deciders together: NO over THROTTLE over YES."""
    found = {each.decision for each in said}
    return "NO" if "NO" in found else "THROTTLE" if found else "YES"


class Allocation:
    """Gives copies to members, as the elected manager does; every change of the state ends with `reroute`."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._alarm = float("inf")
        """The time at which the next copy has waited for long enough."""
        self._is_due = False
        self._files, self._staying = Files(state), Staying(state)

    def soon(self) -> None:
        """Publish a change of the state soon: all changes of one time go together, as servers batch them."""
        if not self._is_due:
            self._is_due = True
            self._state.clock.later(0.0, self._publish_all)

    def _publish_all(self) -> None:
        self._is_due = False
        self.publish()

    def publish(self) -> None:
        """Publish a new version of the state, and give the copies to members again."""
        self._state.changed()
        self.reroute()

    def reroute(self) -> None:
        """Give what may be given, move what has to be moved, and remove files that no one needs."""
        state = self._state
        if state.manager is None or not state.recovered:
            return
        state.recount()
        for index in state.indices.values():
            if "auto_expand_replicas" in index.settings:
                self._expand(index)
        waiting = self._waiting()
        kept = self._files.of(waiting) if waiting else {}
        for copy in sorted(waiting, key=lambda copy: (not copy.primary, -copy.index.made_at, copy.index.name)):
            self._give(copy, kept.get(key_of(copy), []))
        for index in self._staying.to_judge():
            for copy in list(index.copies):
                if copy.state == "STARTED" and (against_staying(state, copy) is not None):
                    self._staying.refused.add(index)
                    self._move(copy)
        self._balance()
        self._files.clean()
        self._wake()

    def _waiting(self) -> list[Copy]:
        load = self._state.counted
        return [copy for index in self._state.indices.values() for copy in load.waiting(index)]

    def _wake(self) -> None:
        """Look again as soon as a copy has waited for long enough for the member that it was on."""
        state, now = self._state, self._state.clock.now()
        ends = [
            copy.why.at + state.delay_of(copy.index) for copy in self._waiting() if copy.why and state.is_delayed(copy)
        ]
        following = min(ends, default=float("inf"))
        if following < self._alarm or self._alarm <= now:
            self._alarm = following
            if ends:
                state.clock.later(following - now, self._over)

    def _over(self) -> None:
        if self._state.manager is not None:
            self._state.changed()
        self.reroute()

    def make(self, index: Index) -> None:
        """Make the copies of a new index, which no member has yet."""
        why = Unassigned("INDEX_CREATED", self._state.clock.now())
        for shard in range(int(index.settings["number_of_shards"])):
            index.shards[shard] = [Copy(index, shard, primary=True, why=why)]
            index.in_sync[shard], index.terms[shard] = set(), 0
            self._count(index, shard, why)

    def recount(self, index: Index) -> None:
        """As many replicas as the settings say."""
        why = Unassigned("REPLICA_ADDED", self._state.clock.now())
        for shard in index.shards:
            self._count(index, shard, why)

    def _count(self, index: Index, shard: int, why: Unassigned) -> None:
        copies = index.shards[shard]
        self._state.recount()
        index.touch()
        while len(copies) <= index.replicas:
            copies.append(Copy(index, shard, primary=False, why=why))
        spare = sorted((copy for copy in copies if not copy.primary), key=_worth)
        for copy in spare[: len(copies) - 1 - index.replicas]:
            copies.remove(copy)
            index.in_sync[shard].discard(copy.allocation or "")

    def _expand(self, index: Index) -> None:
        """`auto_expand_replicas`: as many replicas as there are members other than the primary's."""
        found = re.fullmatch(r"(\d+)-(\d+|all)", str(index.settings.get("auto_expand_replicas", "")))
        if not found or not index.shards:
            return
        probe = Copy(index, 0, primary=False, why=None)
        there = sum(filter_of(self._state, probe, node) is None for node in self._state.data_nodes)
        most = there - 1 if found[2] == "all" else min(int(found[2]), there - 1)
        wanted = max(int(found[1]), most)
        if str(wanted) != index.settings["number_of_replicas"]:
            index.settings["number_of_replicas"] = str(wanted)
            index.touch()
            self.recount(index)

    def _give(self, copy: Copy, kept: Sequence[Member]) -> None:
        state = self._state
        if copy.primary and not copy.new:
            holders = _in_sync(copy, kept)
            open_to = [node for node in holders if decision(against(state, copy, node)) == "YES"]
            throttled = any(decision(against(state, copy, node)) == "THROTTLE" for node in holders)
            # If deciders refuse all members that have it, the primary is given to one of them all the same.
            if open_to or (holders and not throttled and not _exhausted(state, copy, holders)):
                self._begin(copy, (open_to or holders)[0])
            return
        if refuses_all(state, copy) or (not copy.primary and self._waits_for_files(copy, kept)):
            return
        for node in sorted(state.data_nodes, key=lambda node: self.weight(copy.index, node)):
            if takes(state, copy, node):
                self._begin(copy, node)
                return

    def _waits_for_files(self, copy: Copy, kept: Sequence[Member]) -> bool:
        """Whether a replica was given to a member that has its files, or has to wait for one."""
        others = copy.index.shards[copy.shard]
        having = [node for node in kept if not any(node.id in each.places for each in others)]
        for node in having:
            said = decision(against(self._state, copy, node))
            if said == "YES":
                self._begin(copy, node)
            if said != "NO":
                return True
        return not having and self._state.is_delayed(copy)

    def holders(self, copy: Copy) -> list[Member]:
        """The members with the files of a primary that all acknowledged writes are in."""
        return _in_sync(copy, self._state.data_nodes)

    def _best(self, copy: Copy, nodes: Collection[Member]) -> Member | None:
        return min(nodes, key=lambda node: self.weight(copy.index, node), default=None)

    def weight(self, index: Index, node: Member) -> tuple[float, str]:
        """The weight of everything that a member has already (server source, BalancedShardsAllocator)."""
        load = self._state.load
        return BALANCE_OF_SHARDS * load.every[node.id] + BALANCE_OF_INDEX * load.own(index)[node.id], node.name

    def _begin(self, copy: Copy, node: Member) -> None:
        """Start to initialize a copy on a member."""
        lasts = self._state.durations
        store = node.disk.stores.get(key_of(copy))
        resumed = store is not None and not copy.new
        own = store.allocation if store is not None and copy.primary and not copy.new else None
        copy.state, copy.node, copy.allocation = "INITIALIZING", node.id, own or self._state.names.make()
        self._state.load.recount(copy.index)
        seconds = lasts.empty if copy.primary else lasts.resumed if resumed else lasts.copied
        token = copy.allocation
        self._state.clock.later(seconds, lambda: self._arrived(copy, node, token))

    def _arrived(self, copy: Copy, node: Member, token: str | None) -> None:
        """Mark a copy as started, if it still is the one whose recovery has ended."""
        state = self._state
        if copy.state != "INITIALIZING" or (copy.node, copy.allocation) != (node.id, token) or not node.alive:
            return
        if state.manager is None or not _exists(state, copy):
            # It reports to the manager as soon as there is one.
            state.clock.later(state.durations.retry, lambda: self._arrived(copy, node, token))
            return
        index, identity = copy.index, copy.allocation or ""
        if copy.primary:
            if copy.new:
                self._files.put(copy, node, Store(identity))
                index.in_sync[copy.shard] = {identity}
            index.terms[copy.shard] += 1
        else:
            source = store_of(state, index.primary(copy.shard))
            self._files.put(copy, node, Store(identity, dict(source.documents) if source else {}))
            index.in_sync[copy.shard].add(identity)
        copy.state, copy.why, copy.new = "STARTED", None, False
        self.bound(index, copy.shard)
        self.soon()

    def _move(self, copy: Copy) -> None:
        nodes = [node for node in self._state.data_nodes if decision(against(self._state, copy, node)) == "YES"]
        best = self._best(copy, nodes)
        if best is not None:
            self._relocate(copy, best)

    def _relocate(self, copy: Copy, node: Member) -> None:
        copy.state, copy.target, copy.target_allocation = "RELOCATING", node.id, self._state.names.make()
        self._state.load.recount(copy.index)
        token = copy.target_allocation
        self._state.clock.later(self._state.durations.copied, lambda: self._moved(copy, node, token))

    def _moved(self, copy: Copy, node: Member, token: str) -> None:
        state = self._state
        if copy.state != "RELOCATING" or copy.target_allocation != token or not node.alive:
            return
        if state.manager is None or not _exists(state, copy):
            state.clock.later(state.durations.retry, lambda: self._moved(copy, node, token))
            return
        source = store_of(state, copy)
        self._files.put(copy, node, Store(token, dict(source.documents) if source else {}))
        in_sync = copy.index.in_sync[copy.shard]
        in_sync.discard(copy.allocation or "")
        in_sync.add(token)
        copy.state, copy.node, copy.allocation = "STARTED", node.id, token
        copy.target = copy.target_allocation = None
        self.soon()

    def _balance(self) -> None:
        """Even out by one copy at a time, once every copy is started (allow_rebalance: indices_all_active)."""
        state = self._state
        if state.setting(REBALANCE) != "all":
            return
        load = state.counted
        if any(number for (said, _primary), number in load.states.items() if said != "STARTED"):
            return
        without = sorted(state.data_nodes, key=lambda node: (BALANCE_OF_SHARDS * load.every[node.id], node.name))
        for index in state.indices.values():
            least, most = self._extremes(index, without)
            if self.weight(index, most)[0] - self.weight(index, least)[0] <= WORTH_MOVING:
                continue
            for copy in index.copies:
                if copy.node == most.id and not against(state, copy, least):
                    self._relocate(copy, least)
                    return

    def _extremes(self, index: Index, without: Sequence[Member]) -> tuple[Member, Member]:
        """The members with the least and the most weight; `without` is their order for an index without copies."""
        own = self._state.load.own(index)
        having = [node for node in map(self._state.nodes.get, own) if node is not None]
        ends = [next((node for node in way if node.id not in own), None) for way in (without, reversed(without))]
        ordered = sorted([*having, *filter(None, ends)], key=lambda node: self.weight(index, node))
        return ordered[0], ordered[-1]

    def bound(self, index: Index, shard: int) -> None:
        """Of those that were in sync, no more are remembered than there are copies, those that serve first."""
        active = [copy.allocation for copy in index.shards[shard] if copy.started and copy.allocation]
        others = sorted(index.in_sync[shard] - set(active))
        index.in_sync[shard] = {*active, *others[: max(0, index.replicas + 1 - len(active))]}

    def left(self, gone: Collection[str]) -> None:
        """Members are gone: what they had is unassigned, and replicas take over."""
        now, load = self._state.clock.now(), self._state.counted
        there = [index for index in self._state.indices.values() if not load.own(index).keys().isdisjoint(gone)]
        for copy in [copy for index in there for copy in index.copies]:
            if copy.target in gone:
                copy.state, copy.target, copy.target_allocation = "STARTED", None, None
            if copy.node in gone:
                # A replica of a new index that never served has no files that could be waited for.
                why = Unassigned("NODE_LEFT", now, f"node_left [{copy.node}]", delayed=True)
                self._fail(copy, why)

    def _fail(self, copy: Copy, why: Unassigned) -> None:
        copies = copy.index.shards[copy.shard]
        self._state.recount()
        was_primary = copy.primary
        copy.unassign(why)
        if not was_primary:
            return
        for other in copies:
            if other.state == "INITIALIZING":
                said = replace(why, reason="PRIMARY_FAILED", details="primary failed while replica initializing")
                other.unassign(replace(said, delayed=False))
        heirs = [other for other in copies if other.started and self._state.nodes[other.node or ""].alive]
        if not heirs:
            return
        oldest = self._state.managing_version.knows(OLDEST_TAKES_OVER)
        oldest = oldest or copy.index.settings.get("replication.type") == "SEGMENT"
        order = min if oldest else max
        heir = order(heirs, key=lambda other: self._state.nodes[other.node or ""].version)
        copy.primary, heir.primary, copy.new = False, True, False
        copy.index.terms[copy.shard] += 1

    def cancel(self, copy: Copy) -> None:
        """Take a replica from its member on request."""
        self._fail(copy, Unassigned("REROUTE_CANCELLED", self._state.clock.now()))

    def retry(self) -> None:
        """Let copies that have failed too often be tried again."""
        for copy in self._state.copies:
            if copy.why is not None:
                copy.why = replace(copy.why, failed=0)

    def recovered(self) -> None:
        """After a full restart nothing is assigned, until the members have said what is on their disks."""
        why = Unassigned("CLUSTER_RECOVERED", self._state.clock.now())
        for copy in self._state.copies:
            copy.unassign(why)


def _worth(copy: Copy) -> int:
    return ["UNASSIGNED", "INITIALIZING", "RELOCATING", "STARTED"].index(copy.state)


def _in_sync(copy: Copy, nodes: Iterable[Member]) -> list[Member]:
    allocations = copy.index.in_sync[copy.shard]
    return [
        node
        for node in nodes
        if node.alive and (store := node.disk.stores.get(key_of(copy))) and store.allocation in allocations
    ]


def _exists(state: State, copy: Copy) -> bool:
    there = state.indices.get(copy.index.name) is copy.index
    return there and any(each is copy for each in copy.index.shards[copy.shard])


def _exhausted(state: State, copy: Copy, holders: Iterable[Member]) -> bool:
    return any(said.decider == "max_retry" for node in holders for said in against(state, copy, node))


def store_of(state: State, copy: Copy) -> Store | None:
    """The files of a copy that is on a member."""
    node = state.nodes.get(copy.node or "")
    return node.disk.stores.get(key_of(copy)) if node else None
