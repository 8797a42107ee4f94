"""The events of a story of OpenSearch whose members are services on hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.runs.on_hosts import ClusterOnHosts
from tests.runs.random_runs.events import OF_EVERY_SYSTEM, OF_PERSON
from tests.runs.random_runs.opensearch.events import (
    HappeningToMembers,
    disk_full,
    index_without_replicas,
    replicas_by_person,
    setting_by_person,
    settings_cleared,
)
from tests.runs.random_runs.story import Event
from tests.sandbox.opensearch.cluster import Cluster as Servers
from tests.sandbox.plain_hosts.host import PlainHost

LOCKS = "stateful-upgrade-lock-*"
"""The component templates that are the lock."""


@dataclass
class HappeningToHosts(HappeningToMembers):
    """The events of one such story while it goes on."""

    cluster: ClusterOnHosts

    def happen(self, event: Event) -> None:
        """See `HappeningToMembers`."""
        KINDS_ON_HOSTS[event.kind](self, event)

    def are_there(self) -> bool:
        """See `HappeningToMembers`: no run ends while a member of a batch is about to go."""
        return True

    def mend_places(self) -> None:
        """See `HappeningToMembers`: a service that has failed, and has not been stopped, is started by a person."""
        for name in self.cluster.hosts:
            self.mend_host(name)
        self.world.sandbox.clock.sleep(1.0)
        for host in self.cluster.hosts.values():
            if host.service.has_failed:
                host.service.start()

    def mend_host(self, name: str) -> None:
        """End all that was broken of a host."""
        host = self.cluster.hosts[name]
        host.repository_away = host.service.fails = False
        host.service.slow = 0.0
        self.cluster.doors[name].open()
        if not host.has_power:
            host.power_on()

    def host_of(self, event: Event) -> PlainHost:
        """The host that the event is about."""
        return self.cluster.hosts[self.member_of(event)]

    @property
    def servers(self) -> Servers:
        """See `HappeningToMembers`."""
        return self.cluster.servers


def _mend_later(here: HappeningToHosts, event: Event) -> None:
    here.later(event, lambda: here.mend_host(here.member_of(event)))


def _process_killed(here: HappeningToHosts, event: Event) -> None:
    here.host_of(event).service.end()
    here.foreign(here.member_of(event))


def _host_unreachable(here: HappeningToHosts, event: Event) -> None:
    """The controller can no longer reach the host; its member keeps running."""
    here.cluster.doors[here.member_of(event)].close()
    _mend_later(here, event)


def _host_without_power(here: HappeningToHosts, event: Event) -> None:
    here.cluster.doors[here.member_of(event)].close()
    here.host_of(event).power_off()
    here.foreign(here.member_of(event))
    _mend_later(here, event)


def _service_fails(here: HappeningToHosts, event: Event) -> None:
    """The next processes of the service end as soon as they start."""
    here.host_of(event).service.fails = True
    here.foreign(here.member_of(event))
    _mend_later(here, event)


def _crash_loop(here: HappeningToHosts, event: Event) -> None:
    _service_fails(here, event)
    _process_killed(here, event)


def _slow_stop(here: HappeningToHosts, event: Event) -> None:
    here.host_of(event).service.slow = event.seconds or 60.0


def _repository_away(here: HappeningToHosts, event: Event) -> None:
    here.host_of(event).repository_away = True
    _mend_later(here, event)


def _lock_removed(here: HappeningToHosts, _event: Event) -> None:
    here.cluster.ask(f"/_component_template/{LOCKS}", "DELETE")


def _record_removed(here: HappeningToHosts, _event: Event) -> None:
    for each in here.cluster.records.glob("*.json"):
        each.unlink()


KINDS_ON_HOSTS: Mapping[str, Callable[[HappeningToHosts, Event], None]] = {
    "kill": OF_EVERY_SYSTEM["kill"],
    **OF_PERSON,
    "process_killed": _process_killed,
    "host_unreachable": _host_unreachable,
    "host_without_power": _host_without_power,
    "service_fails": _service_fails,
    "crash_loop": _crash_loop,
    "slow_stop": _slow_stop,
    "repository_away": _repository_away,
    "setting_by_person": setting_by_person,
    "index_without_replicas": index_without_replicas,
    "replicas_by_person": replicas_by_person,
    "disk_full": disk_full,
    "lock_removed": _lock_removed,
    "record_removed": _record_removed,
    "settings_cleared": settings_cleared,
}
"""The kinds of events."""
