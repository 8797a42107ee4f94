"""The state of the cluster, as the elected manager has published it last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy as shallow
from typing import Any

from tests.sandbox.clock import Clock
from tests.sandbox.opensearch.known import DELAY, NO_DELETE, READ_ONLY, ROUTING
from tests.sandbox.opensearch.load import Filters, Load, filters_after, filters_of
from tests.sandbox.opensearch.model import Accepted, Copy, Durations, Index, Member, Names
from tests.sandbox.opensearch.settings import Settings
from tests.sandbox.opensearch.values import seconds
from tests.sandbox.opensearch.versions import Version
from tests.sandbox.opensearch.voting import Exclusion

NOT_FORMED = "_na_"
"""The identity of a cluster that no one has founded."""
DELAY_OF_SERVER = 60.0
NOT_RECOVERED, NO_MANAGER = "1", "2"


class State:
    """Everything that is published. Code that changes it calls `changed`."""

    def __init__(self, clock: Clock, name: str, durations: Durations) -> None:
        self.clock = clock
        self.name = name
        self.durations = durations
        self.names = Names(name)
        self.uuid = NOT_FORMED
        self.version = 0
        self.state_uuid = NOT_FORMED
        self.term = 0
        self.nodes: dict[str, Member] = {}
        self.elected: str | None = None
        self.committed: frozenset[str] = frozenset()
        self.accepted: frozenset[str] = frozenset()
        self.exclusions: list[Exclusion] = []
        self.indices: dict[str, Index] = {}
        self.settings = Settings()
        self.component_templates: dict[str, Any] = {}
        self.index_templates: dict[str, Any] = {}
        self.repositories: dict[str, Any] = {}
        self.snapshots: list[dict[str, Any]] = []
        self.managed: dict[str, dict[str, Any]] = {}
        """The index -> what index state management is at with it (action, step, info)."""
        self.recovered = False
        self._load = Load()
        self._is_counted = False
        self._data_nodes: list[Member] | None = None

    def duplicate(self) -> State:
        """Another state with all that is in this one, which counts for itself."""
        found = shallow(self)
        found._load = Load()
        found.recount()
        return found

    @property
    def manager(self) -> Member | None:
        """The elected manager."""
        return self.nodes.get(self.elected or "")

    @property
    def spokesman(self) -> Member | None:
        """The member whose file counts: the elected manager, or where there is none, any member."""
        return self.manager or next(iter(self.nodes.values()), None)

    @property
    def data_nodes(self) -> list[Member]:
        """The members that may hold shards; code that changes `nodes` calls `recount` before the next question."""
        if self._data_nodes is None:
            self._data_nodes = [member for member in self.nodes.values() if member.holds_data]
        return self._data_nodes

    @property
    def managing_version(self) -> Version:
        """The version of the elected manager, which knows settings or not."""
        speaker = self.spokesman
        return speaker.version if speaker else Version(0, 0, 0)

    @property
    def copies(self) -> Iterator[Copy]:
        """All copies of all indices."""
        for index in self.indices.values():
            yield from index.copies

    @property
    def load(self) -> Load:
        """The work of the members; code that changes copies, members or settings calls `recount`."""
        if not self._is_counted:
            self._is_counted = True
            settings = self.settings_under(f"{ROUTING}.")
            self._load.heed(self.nodes.values(), settings, self._filters(settings))
            self._load.follow(self.indices)
        return self._load

    @property
    def counted(self) -> Load:
        """The same, of this very time, whoever has changed a copy."""
        load = self.load
        load.follow(self.indices)
        return load

    def _filters(self, settings: Mapping[str, Any]) -> Filters:
        speaker = self.spokesman
        if speaker is None or not speaker.version.elastic:
            return filters_of(settings, arrays=False)
        return filters_of(settings) if speaker.filters is None else speaker.filters

    def heed_filters(self, before: Mapping[str, Any]) -> None:
        """Settings have changed: `before` has those that begin with `cluster.routing.allocation.`, as they were."""
        after = self.settings_under(f"{ROUTING}.")
        for member in self.nodes.values():
            if member.version.elastic:
                heeded = filters_of(before) if member.filters is None else member.filters
                member.filters = filters_after(heeded, before, after)

    def recount(self) -> None:
        """Copies, members or settings have changed."""
        self._is_counted, self._data_nodes = False, None

    def file(self) -> dict[str, Any]:
        """The settings of the elected manager's own file."""
        speaker = self.spokesman
        return dict(speaker.spec.settings) if speaker else {}

    def setting(self, name: str) -> Any:
        """The value in force of a setting."""
        return self.settings.effective(name, self.file())

    def settings_under(self, beginning: str) -> dict[str, Any]:
        """The values in force of all settings whose names begin so."""
        return self.settings.all(beginning, self.file())

    def delay_of(self, index: Index) -> float:
        """For how long copies of an index wait for a member that has left."""
        own = index.settings.get("unassigned.node_left.delayed_timeout")
        if own is None and self.managing_version.knows(Version(3, 8, 0)):
            found = self.setting(DELAY)
            own = None if found in (None, "-1") else found
        return DELAY_OF_SERVER if own is None else seconds(own)

    def is_delayed(self, copy: Copy) -> bool:
        """Whether a copy waits for the member that it was on."""
        why = copy.why
        if copy.state != "UNASSIGNED" or why is None or not why.delayed:
            return False
        return self.clock.now() < why.at + self.delay_of(copy.index)

    def blocks(self) -> dict[str, dict[str, Any]]:
        """The blocks of the whole cluster."""
        found: dict[str, dict[str, Any]] = {}
        if self.manager is None:
            found[NO_MANAGER] = {"description": "no cluster-manager", "retryable": True, "levels": ["metadata_write"]}
        elif not self.recovered:
            found[NOT_RECOVERED] = {
                "description": "state not recovered / initialized",
                "retryable": True,
                "disable_state_persistence": True,
                "levels": ["read", "write", "metadata_read", "metadata_write", "create_index"],
            }
        levels = ["write", "metadata_write"]
        if self.setting(READ_ONLY) == "true":
            found["6"] = {"description": "cluster read-only (api)", "retryable": False, "levels": levels}
        if self.setting(NO_DELETE) == "true":
            text = "cluster read-only / allow delete (api)"
            found["13"] = {"description": text, "retryable": False, "levels": levels}
        return found

    def changed(self) -> None:
        """A new version is published, and every manager-eligible member that is there accepts it."""
        self.version += 1
        self.recount()
        self.state_uuid = self.names.make()
        accepted = Accepted(self.term, self.version, self.committed, self.accepted)
        for member in self.nodes.values():
            if member.alive and member.manages:
                member.disk.accepted = accepted
