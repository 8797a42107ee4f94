"""The time that servers in memory take: as on an idle machine, or the longest that real ones are known to take."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from tests.sandbox.kubernetes.controllers.work import Durations as KubernetesDurations
from tests.sandbox.opensearch.model import Durations as OpenSearchDurations

Of = TypeVar("Of", KubernetesDurations, OpenSearchDurations)


_NOT_DRAWN = ("resized", "disks")
"""Durations that no random story meets: each one drawn would change all stories by their seeds."""


@dataclass(frozen=True)
class Paces:
    """The durations of both."""

    kubernetes: KubernetesDurations
    opensearch: OpenSearchDurations


QUICK = Paces(KubernetesDurations(node_lost=4.0), OpenSearchDurations(boot=0.2))
"""Members boot sooner than real ones, since nothing is shown by their booting."""
WORST = Paces(
    KubernetesDurations(
        # A controller works off a queue, and its status is older than what it says by this; after the end of the
        # elected one the next begins after a lease of 15 s (kube-controller-manager, --leader-elect-lease-duration).
        control=5.0,
        # A volume is attached and mounted; the attach-detach controller retries with growing pauses.
        prepare=30.0,
        pull=20.0,
        start=2.0,
        # Kubelet: --sync-frequency of one minute, and the age of its cache.
        mounted=90.0,
        # Below the grace period of 30 s, so that no process is killed.
        stop=25.0,
        run=5.0,
        # kube-controller-manager, --node-monitor-grace-period since 1.32.
        node_lost=50.0,
        # A disk of a cloud is optimised for minutes after it has grown (documentation of EBS, Modifying volumes).
        resized=300.0,
        namespace=10.0,
    ),
    OpenSearchDurations(
        boot=45.0,
        # cluster.join.timeout is 60 s; a join waits for the publication before it.
        join=5.0,
        # cluster.election.initial_timeout and back_off_time add up to this after several elections without a winner.
        election=3.0,
        abdication=1.0,
        # cluster.fault_detection.follower_check: three times a timeout of 10 s where no connection was closed.
        removal=30.0,
        stop=20.0,
        reconfiguration=1.0,
        recovered=5.0,
        empty=1.0,
        resumed=10.0,
        copied=30.0,
    ),
)


def drawn(chance: random.Random) -> Paces:
    """Each duration from the quick one to the worst, in even steps of its logarithm."""
    return Paces(
        _between(chance, QUICK.kubernetes, WORST.kubernetes), _between(chance, QUICK.opensearch, WORST.opensearch)
    )


def _between(chance: random.Random, quick: Of, worst: Of) -> Of:
    found = {}
    for each in fields(quick):
        if each.name in _NOT_DRAWN:
            continue
        least, most = getattr(quick, each.name), getattr(worst, each.name)
        found[each.name] = round(least * (most / least) ** chance.random(), 3)
    return replace(quick, **found)
