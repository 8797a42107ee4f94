"""The figures at the end of the demo. Pure: no client, no clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.figures import MemberTime
from tests.lab.traffic import Report

MEANING = """sent to a member, or under way on one, when that member stopped.
No data is lost by that: a document counts once it is acknowledged, and all of those were read back. The traffic of this
demo never tries again; a client with several addresses that does gets its answer from another member."""
NEXT = """To do next:
  make demo ARGS="--members seven"     the same with managers and data members of their own
  README.md, "First plan"              a plan for a cluster of your own; it changes nothing
  tests/demo/README.md                 a cluster like this one that stays, to try every playbook on"""
AGAIN = """To do next: run it again on a machine that does nothing else. If it fails in the same way,
report it with everything above."""


@dataclass(frozen=True)
class Figures:
    """The cost of the upgrade, and the cluster after it."""

    code: int
    seconds: float
    members: tuple[MemberTime, ...]
    report: Report
    versions: Mapping[str, str]
    health: str
    target: str

    @property
    def good(self) -> bool:
        """Upgraded, whole, and nothing missing."""
        return not self._faults

    @property
    def _faults(self) -> list[str]:
        loss = self.report.loss
        return [
            *(["the upgrade did not succeed"] if self.code else []),
            *([f"not every member runs {self.target}"] if set(self.versions.values()) != {self.target} else []),
            *([f"the cluster is {self.health}"] if self.health != "green" else []),
            *(["the documents were not checked"] if loss is None else []),
            *(["acknowledged documents are missing"] if loss and loss.count else []),
        ]

    def table(self) -> str:
        """The figures for people."""
        lines = ["", f"Upgraded in {self.seconds:.1f} s" if self.code == 0 else "The upgrade did NOT succeed", ""]
        lines += [f"{'member':<28}{'version':<10}{'stop':>8}{'start':>8}{'away':>8}"]
        times = {member.name: member for member in self.members}
        for name in [*times, *sorted(self.versions.keys() - times.keys())]:
            one, version = times.get(name), self.versions.get(name, "missing")
            seconds = f"{one.stop:>6.1f} s{one.start:>6.1f} s{one.away:>6.1f} s" if one else f"{'not replaced':>24}"
            lines.append(f"{name:<28}{version:<10}{seconds}")
        whole = f"The cluster is green, every member runs {self.target}, and no acknowledged document is missing."
        verdict = whole if self.good else f"NOT as it should be: {', '.join(self._faults)}."
        return "\n".join([*lines, "", self.report.table(), *self._failed(), "", verdict])

    def _failed(self) -> list[str]:
        """The meaning of failed operations in an upgrade that went well: each is cut off by a member that stops."""
        counts = {"search": self.report.searches.failed, "write": self.report.writes.failed}
        failed = [_counted(count, kind) for kind, count in counts.items() if count]
        return ["", f"{' and '.join(failed)} failed: {MEANING}"] if failed and self.good else []

    def next(self) -> str:
        """The things to do after the demo."""
        return NEXT if self.good else AGAIN


def _counted(count: int, kind: str) -> str:
    return f"{count} {kind}" if count == 1 else f"{count} {kind}{'es' if kind == 'search' else 's'}"
