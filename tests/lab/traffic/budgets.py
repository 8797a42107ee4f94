"""The error budgets: how much of the traffic a scenario may fail, and why so much. The README has the same table.

`ROLLING` is three times what an upgrade on a busy machine of two cores has shown. `KILLED`, `RESTARTED`,
`INDEX_LOAD` and `AWAY` are two to ten times what they have shown on a quiet one. The others are computed from what
their scenarios do to a cluster. Each run prints its figures next to them (`Report.beside`), to tighten them by.
"""

from __future__ import annotations

from dataclasses import dataclass

REFUSED = "connection refused"
FEWEST = 6
"""So many failures are in every budget: a share of few operations is chance, and a member that goes costs about two."""


@dataclass(frozen=True)
class Budget:
    """The limits of one kind of scenario. A missing document, and a figure that is missing, are in none of them."""

    name: str
    writes: float
    """The share of writes that may fail, between 0 and 1."""
    searches: float
    """The share of searches that may fail or lack shards, between 0 and 1."""
    unknown: float
    """The seconds during which no member can report the health of the cluster."""
    reason: str
    red: float = 0.0
    """The seconds for which the cluster may be red: none where each shard has a copy elsewhere."""
    repeated: tuple[str, ...] = ()
    """Failures that every client repeats at another member, so that they do not count."""

    def allowed(self, share: float, attempted: int) -> float:
        """Gives how many of the operations may fail."""
        return max(share * attempted, FEWEST)

    def row(self) -> str:
        """Gives the row of the budget in the table of the README."""
        cells = (f"`{self.name}`", f"{self.writes:.0%}", f"{self.searches:.0%}", f"{self.unknown:.0f} s")
        return f"| {' | '.join((*cells, f'{self.red:.0f} s', self.reason))} |"


ROLLING = Budget(
    "ROLLING",
    writes=0.02,
    searches=0.02,
    unknown=20.0,
    reason="Three members go one by one, and leave the Service before they stop. A busy machine showed 0.6 % "
    "of writes, 0.2 % of searches and 0.1 s. One look at the health asks three members for 5 s each.",
)
KILLED = Budget(
    "KILLED",
    writes=0.05,
    searches=0.05,
    unknown=60.0,
    reason="Runs are killed between two acts or pods go by other hands, so that a member is away for longer "
    "and an election has to wait for the next run.",
)
CROWDED = Budget(
    "CROWDED",
    writes=0.10,
    searches=0.10,
    unknown=60.0,
    reason="Seven or eight servers share the two cores, and several go at a time. The probe of the official "
    "chart asks only whether the port is open.",
)
RESTARTED = Budget(
    "RESTARTED",
    writes=0.30,
    searches=0.30,
    unknown=60.0,
    reason="A process stops in a pod that stays: it is in the Service until three probes have failed, which "
    "takes 3 to 9 s for each of three members, and a third of the operations goes to it. All restart in 22 s.",
)
UNPROBED = Budget(
    "UNPROBED",
    writes=0.30,
    searches=0.30,
    unknown=60.0,
    reason="Without a readiness probe a third of the operations goes to each member while it boots.",
)
HOSTS = Budget(
    "HOSTS",
    writes=0.10,
    searches=0.10,
    unknown=60.0,
    reason="Clients have a list of hosts and go to those that are stopped, too. A refusal there does not count, "
    "since every client repeats it at the next host.",
    repeated=(REFUSED,),
)
INDEX_LOAD = Budget(
    "INDEX_LOAD",
    writes=0.05,
    searches=0.05,
    unknown=60.0,
    red=120.0,
    reason="As HOSTS. An index that users make while a member stops has no replica yet, and is red until "
    "that member is back.",
    repeated=(REFUSED,),
)
SINGLE_COPIES = Budget(
    "SINGLE_COPIES",
    writes=0.30,
    searches=0.80,
    unknown=60.0,
    red=400.0,
    reason="One index of four has single copies by consent. While one is away, a quarter of the writes "
    "fails, and every search lacks shards, for it asks all four.",
)
AWAY = Budget(
    "AWAY",
    writes=0.80,
    searches=0.80,
    unknown=120.0,
    red=120.0,
    reason="All members are stopped at the same time, by consent, and the run is killed twice during it. The "
    "cluster has to serve before and after.",
)

BUDGETS = (ROLLING, KILLED, CROWDED, RESTARTED, UNPROBED, HOSTS, INDEX_LOAD, SINGLE_COPIES, AWAY)
