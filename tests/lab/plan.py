"""The plan of a lab: written by the command that starts it, read by its daemon."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.lab.control_plane.credentials import write_private
from tests.lab.processes import ProcessRecord

FILE = "lab.json"


@dataclass(frozen=True)
class LabPlan:
    """One lab; with an `owner` it ends when that process ends."""

    name: str
    binary: str
    """The program of the control plane; empty for the one in memory."""
    zones: tuple[str, ...]
    nodes_per_zone: int
    owner: ProcessRecord | None

    @property
    def in_memory(self) -> bool:
        """Whether the API server and the controllers are those in memory."""
        return not self.binary

    def write(self, directory: Path) -> None:
        write_private(directory / FILE, json.dumps(asdict(self), indent=1).encode())

    @classmethod
    def read(cls, directory: Path) -> LabPlan:
        fields = json.loads((directory / FILE).read_text())
        owner = ProcessRecord(**fields.pop("owner")) if fields["owner"] else fields.pop("owner")
        return cls(zones=tuple(fields.pop("zones")), owner=owner, **fields)

    def node_names(self) -> list[tuple[str, str]]:
        """Name and zone of each Kubernetes node."""
        counts = range(1, self.nodes_per_zone + 1)
        return [(f"node-{zone}{number}", zone) for zone in self.zones for number in counts]
