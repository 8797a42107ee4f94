"""The stand-in of crictl on a machine of the lab: it asks the folder of the container runtime, not its socket.

`images`, `pull` and `ps` answer as crictl 1.36 does; no container runs. etcd is that of the lab, an external one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from urllib.parse import quote, unquote

FOLDER = Path("/var/lib/container-runtime")


def main(command: str, *arguments: str) -> int:
    """Answer one command; gives the exit code."""
    if command == "images":
        tags = sorted(unquote(path.name) for path in (FOLDER / "images").iterdir())
        images = [{"id": tag, "repoTags": [tag], "repoDigests": [], "size": "1", "pinned": False} for tag in tags]
        print(json.dumps({"images": images}, indent=2))
        return 0
    if command == "pull":
        name = quote(arguments[-1], safe=":")
        if (FOLDER / "missing" / name).exists():
            cause = f'rpc error: code = NotFound desc = failed to resolve reference "{arguments[-1]}": not found'
            print(f"level=fatal msg={json.dumps(f'pulling image: {cause}')}", file=sys.stderr)
            return 1
        (FOLDER / "images" / name).touch()
        print(f"Image is up to date for {arguments[-1]}")
        return 0
    if command == "ps":
        return 0
    print(f"the stand-in of crictl knows no {command!r}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
