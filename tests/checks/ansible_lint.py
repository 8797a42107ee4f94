"""ansible-lint, production profile, over a copy of the project: `python -m tests.checks.ansible_lint [OPTIONS…]`.

It runs on a copy, since it finds the collection's own modules only where the folder's name is the collection's name.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.checks.tree import COLLECTION, copied_project


def main(options: list[str]) -> int:
    """Runs ansible-lint; gives its exit code."""
    with copied_project() as collection:
        environment = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(collection.parents[len(COLLECTION.parts) - 1]),
            "ANSIBLE_HOME": str(collection.parent / ".ansible"),
        }
        command = ["ansible-lint", "--offline", "--profile", "production", "--strict", "--nocolor", "-q", *options]
        done = subprocess.run(command, cwd=collection, env=environment, check=False, text=True, stderr=subprocess.PIPE)
    if done.returncode != 0:  # else it only says which templates it could not fill in
        print(done.stderr, end="", file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
