"""`python -m tests.molecule [OPTIONS…]`: molecule on the scenarios of extensions/molecule; by default on all of them.

Molecule finds this collection through a link, so that nothing is installed and nothing of the user's is read.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence

from tests.checks.tree import ROOT, linked_project
from tests.lab.cache import cache_root

EVERYTHING = ("test", "--all", "--report")


def environment() -> dict[str, str]:
    """The environment for molecule: this collection, and nothing of the user's."""
    foreign = ("ANSIBLE_", "K8S_AUTH_", "OPENSEARCH_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign) or name == "ANSIBLE_HOME"}
    checkout = hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]
    return {
        # Molecule keeps its state there from command to command, and would distinguish checkouts by their name alone.
        "ANSIBLE_HOME": str(cache_root() / f"molecule-{checkout}"),
        **kept,
        "ANSIBLE_COLLECTIONS_PATH": str(linked_project()),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
    }


def main(options: Sequence[str]) -> None:
    """Becomes molecule."""
    os.chdir(ROOT)
    molecule, surroundings = [sys.executable, "-m", "molecule"], environment()
    if not options:
        # Servers that an interrupted run has left would be taken for new ones.
        subprocess.run([*molecule, "destroy"], env=surroundings, check=True)
    os.execve(sys.executable, [*molecule, *(options or EVERYTHING)], surroundings)


if __name__ == "__main__":
    main(sys.argv[1:])
