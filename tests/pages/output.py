"""The page `docs/reference/output.md`: what runs of three and of a thousand members print, by the code for it.

The upgrades are simulated: the plan, the record and the times are made up; each line comes from the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import conftest  # noqa: F401  # makes the collection importable; pylint: disable=unused-import

# isort: split
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.run.output.ending_text import Ending, ending_lines
from ansible_collections.stateful.upgrade.plugins.module_utils.run.output.plan_text import Words, plan_lines
from ansible_collections.stateful.upgrade.plugins.module_utils.run.pace import done_text, placed, usual_absence
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import UpgradeEvent
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import (
    Record,
    batch_changed,
    begun,
    ended,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.waits import green_after
from ansible_collections.stateful.upgrade.plugins.plugin_utils.voice import DisplayVoice, label_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "output.md"
KIND = "data with manager"
PROOF = "Every shard of the batch keeps a started copy elsewhere ({count} of {count}), {voters} voting members stay"
NIGHT = datetime(2026, 11, 21, 2, 0, 0, tzinfo=timezone.utc)
SHOWN = 3
"""Lines of the progress of a large upgrade at its start and at its end that the page shows."""


@dataclass
class Log:
    """A log, and the clock of the simulated run."""

    lines: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def line(self, text: str, *, done: bool = False) -> None:
        self.lines.append(text)

    def live(self, text: str) -> None:
        raise AssertionError(text)

    def now(self) -> float:
        return self.seconds

    def at(self) -> str:
        return (NIGHT + timedelta(seconds=self.seconds)).isoformat().replace("+00:00", "Z")


def plan_of(batches: Sequence[Sequence[str]], name: str, voters: str) -> dict[str, Any]:
    """The result of a module that plans; the last batch has the elected manager."""
    members = [member for batch in batches for member in batch]
    last = len(batches) - 1
    return {
        "digest": "p1f2e3d4c5b6",
        "cluster_uuid": "Yq1Zp4oQSOu5mM0r9bJ2Mg",
        "cluster_name": name,
        "target_version": "3.8.0",
        "deployed_version": "2.19.6",
        "before": dict.fromkeys(members, "2.19.6"),
        "members": members,
        "pools": [{"name": "members", "members": members, "status": "pending"}],
        "left": [],
        "predicted_seconds": 60 * len(batches),
        "prediction": "guessed",
        "verdict": {"state": "passed", "reasons": []},
        "system": "opensearch",
        "batches": [
            {
                "name": f"batch-{number + 1:02d}.{batch[0]}",
                "pools": ["members"],
                "members": list(batch),
                "cures": False,
                "kind": KIND if voters else "data",
                "reason": (KIND if voters else "data")
                + ("; the elected manager goes last, and hands over first" if voters and number == last else ""),
                "proof": PROOF.format(count=8 * len(batch), voters=voters or "3 of 3"),
            }
            for number, batch in enumerate(batches)
        ],
    }


def upgrade(plan: Mapping[str, Any], away: Sequence[float], gate: float) -> tuple[list[str], list[str], list[str]]:
    """The lines of plan, progress and end of an upgrade whose batches are away for so many seconds, in turn."""
    words = Words(
        system="OpenSearch",
        changes=("update strategy of 1 pool", "3 cluster settings"),
        stays=("image of 1 pool",),
    )
    log = Log()
    record = begun(None, plan, "20261121-020000-3f2a5b6c", "ops", log.at())
    assert record is not None
    batches = placed(plan["batches"], len(record.batches))
    for number, batch in enumerate(batches):
        record = _batch(log, record, batch, away[number % len(away)], gate if number else 0.0)
    log.seconds += gate
    record = ended(green_after(record, gate, ""), UpgradeEvent.COMPLETED, "", log.at())
    assert record is not None
    end = Ending("3.8.0", found="the cluster is green", record=record, record_name="stateful-upgrade-0a1b2c3d4e")
    return plan_lines({**plan, "batches": batches}, words), log.lines, ending_lines(end, words)


def _batch(log: Log, record: Record, batch: Mapping[str, Any], away: float, gate: float) -> Record:
    voice = DisplayVoice(log, label_of({"upgrade_batch": batch}, own=True), (), now=log.now)
    log.seconds += gate
    waited = [{"code": "recovering", "message": "Shards of traffic-0 recover.", "seconds": gate}] if gate else []
    change = batch_changed(green_after(record, gate, batch["name"]), batch["name"], "upgrading", log.at(), (), ())
    assert change is not None
    for member in batch["members"][:1]:
        voice.progress(f"{member} goes down" + (f", green within {gate:.0f} s of the batch before" if gate else ""))
    usually = usual_absence(change)
    for second in range(round(away)):
        voice.waits(Waiting("Pod has started and is not Ready yet.", float(second), "starting", usually))
        log.seconds += 1
    took = [{"name": member, "action": "replaced", "total_seconds": away} for member in batch["members"]]
    done = batch_changed(change, batch["name"], "done", log.at(), took, waited)
    assert done is not None
    voice.done(done_text(took, done))
    return done


def three() -> tuple[list[str], list[str], list[str]]:
    """Three members of which each is a manager, too; one at a time."""
    return upgrade(plan_of([["members-1"], ["members-0"], ["members-2"]], "search-prod", "2 of 3"), (28.0, 29.0), 13.0)


def thousand() -> tuple[list[str], list[str], list[str]]:
    """A thousand data members, one at a time."""
    batches = [[f"data-{number}"] for number in reversed(range(1000))]
    return upgrade(plan_of(batches, "search-large", ""), (28.0, 29.0, 26.0), 9.0)


def page() -> str:
    """The whole page."""
    small, large = three(), thousand()
    between = f"… {len(large[1]) - 2 * SHOWN:,} further lines …"
    shown = [*large[1][:SHOWN], between, *large[1][-SHOWN:]]
    return "\n".join(
        [
            "# Output",
            "",
            "A run prints plain text, one line for each change. A terminal also has a line that is overwritten: the",
            "wait, since when, and how long it usually takes. A log gets it after 15 s without another line, then less",
            "often, at least every five minutes. `make pages` writes this page with the code that prints these lines;",
            "the upgrades are simulated.",
            "",
            "## Three members",
            "",
            "```text",
            *(line for part in small for line in part),
            "```",
            "",
            "The live line of a terminal:",
            "",
            "```text",
            "⠼ 2/3 members-0   starting 26 s (usually 28 s)",
            "```",
            "",
            "## A thousand members, one at a time",
            "",
            f"The plan has {len(large[0])} lines, the progress {len(large[1]) / 1000:.1f} lines a member.",
            "",
            "```text",
            *large[0],
            *shown,
            *large[2],
            "```",
            "",
        ]
    )
