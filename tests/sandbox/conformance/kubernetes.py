"""The answers of the API server of the lab to each case. `python -m tests.sandbox.conformance.kubernetes DIRECTORY`
records it anew from the lab that runs in a directory."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.lab.lab import Lab
from tests.sandbox.conformance import kubernetes_admission as admitted
from tests.sandbox.conformance import kubernetes_controlled as definitions
from tests.sandbox.conformance import kubernetes_evictions as evicting
from tests.sandbox.conformance import kubernetes_execution as execution
from tests.sandbox.conformance import kubernetes_metadata as metadata
from tests.sandbox.conformance import kubernetes_objects as cases
from tests.sandbox.conformance.kubernetes_asking import Case, OfLab, Seen, seen

FILE = Path(__file__).with_name("recorded") / "kubernetes.json"
CASES: dict[str, Case] = {
    each.__name__: each
    for each in (
        cases.objects,
        cases.pages,
        cases.paths,
        cases.versions,
        cases.patches,
        cases.defaults,
        cases.applies,
        cases.finalizers,
        cases.rights,
        cases.events,
        cases.watches,
        metadata.labels,
        metadata.owners,
        metadata.sizes,
        admitted.security,
        admitted.admission,
        admitted.limits,
        admitted.quotas,
        admitted.claim_quotas,
        definitions.definitions,
        definitions.pools,
        evicting.evictions,
        execution.commands,
        execution.followed,
    )
}


def recorded(name: str) -> Seen:
    """The recorded answers to a case."""
    found: Seen = json.loads(FILE.read_text(encoding="utf-8"))[name]
    return found


def main() -> None:
    """Record all cases."""
    lab = Lab.attach(Path(sys.argv[1]))
    found = {name: seen(case, OfLab(lab)) for name, case in CASES.items()}
    FILE.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
