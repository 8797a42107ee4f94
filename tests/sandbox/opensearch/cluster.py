"""One cluster in memory: processes are started and stopped, and requests are answered by any of them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tests.sandbox.clock import Clock
from tests.sandbox.opensearch.allocation import Allocation
from tests.sandbox.opensearch.coordination import Coordination
from tests.sandbox.opensearch.documents import Documents
from tests.sandbox.opensearch.indices import Indices
from tests.sandbox.opensearch.lagging import applied
from tests.sandbox.opensearch.model import TOTAL, Disk, Durations, Member, MemberSpec
from tests.sandbox.opensearch.rest.router import Router
from tests.sandbox.opensearch.security import has_tls
from tests.sandbox.opensearch.snapshots import Snapshots
from tests.sandbox.opensearch.state import State
from tests.sandbox.opensearch.tasks import Tasks
from tests.sandbox.opensearch.versions import Version
from tests.sandbox.web import Answer, CutOff, Handler, OtherScheme, Pending, Request


class Cluster:
    """The members of one cluster, and the disks that outlive them."""

    def __init__(self, clock: Clock, name: str = "opensearch", durations: Durations | None = None) -> None:
        self.clock = clock
        self.name = name
        self.state = State(clock, name, durations or Durations())
        self.allocation = Allocation(self.state)
        self.indices = Indices(self.state, self.allocation)
        self.documents = Documents(self.state, self.indices)
        self.snapshots = Snapshots(self.state)
        self.coordination = Coordination(self.state, self._left, self.allocation.soon, self.allocation.recovered)
        self.members: dict[str, Member] = {}
        """The last process of each name."""
        self.disks: dict[str, Disk] = {}
        """By data key."""
        self.tasks = Tasks(clock)
        self._router = Router(self)
        self._turn = 0

    def start(self, spec: MemberSpec) -> None:
        """A process is started on the disk of its `data_key`, which is empty where there is none yet.

        One of the same name that still runs is killed.
        """
        if (former := self.members.get(spec.name)) is not None and former.alive:
            self.kill(spec.name)
        disk = self.disks.setdefault(spec.data_key, Disk(self.state.names.make()))
        member = Member(
            spec,
            disk,
            self.state.names.make(),
            Version.parse(spec.version),
            secure=has_tls(spec.settings),
            started=self.clock.now(),
        )
        self.members[spec.name] = member
        self.clock.later(self.state.durations.boot, lambda: self.coordination.booted(member))

    def stop(self, name: str, ended: Callable[[], None] | None = None) -> None:
        """SIGTERM: it closes its REST port and leaves the cluster at once; its process has `ended` a little later."""
        member = self.members[name]
        self._end(member)
        if ended is not None:
            self.clock.later(self.state.durations.stop, ended)

    def kill(self, name: str) -> None:
        """SIGKILL: nothing of it is there any more; its disk is."""
        self._end(self.members[name])

    def lags(self, name: str) -> None:
        """From now on a member does not apply what is published; the elected manager has done so by itself."""
        member = self.members[name]
        if member.in_memory and member.id != self.state.elected:
            member.applied = applied(self.state)

    def keeps_up(self, name: str) -> None:
        """A member applies all that was published."""
        self.members[name].applied = None

    def _end(self, member: Member) -> None:
        if member.alive:
            member.alive = member.rest = member.seeking = False
            self.coordination.gone(member)

    def _left(self, gone: Collection[str]) -> None:
        self.allocation.left(gone)
        self.snapshots.left(gone)

    def runs(self, name: str) -> bool:
        """Whether its process runs; one that its own disk refuses ends by itself soon after its start."""
        return name in self.members and self.members[name].alive

    def ready(self, name: str) -> bool:
        """Whether its REST port answers."""
        return name in self.members and self.members[name].rest

    def said(self, name: str) -> str:
        """The reason why a member has ended by itself, or may not join; empty if nothing is wrong."""
        return self.members[name].said

    def remove_disk(self, data_key: str) -> None:
        """The data is gone for good: the next process with that key starts with an empty disk."""
        self.disks.pop(data_key, None)

    def resize(self, name: str, available: int, total: int = TOTAL) -> None:
        """The disk of a member has that many bytes, of which some are free. The elected manager notices it later."""
        disk = self.members[name].disk
        disk.available, disk.total = available, total

        def notice() -> None:
            disk.known = disk.available, disk.total
            self.allocation.soon()

        self.clock.later(self.state.durations.disks, notice)

    def handler(self, name: str = "") -> Handler:
        """A handler by which that member answers, or where none is named, each that is up in its turn."""

        def answer(request: Request) -> Answer | Pending:
            member = self.members.get(name) if name else self._any()
            if member is None or not member.rest:
                raise CutOff(made=False)
            if member.secure != request.secure:
                raise OtherScheme
            return self._router.answer(member, request)

        return answer

    def _any(self) -> Member | None:
        there = [member for member in self.members.values() if member.rest]
        self._turn += 1
        return there[self._turn % len(there)] if there else None
