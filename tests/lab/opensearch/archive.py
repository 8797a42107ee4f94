"""Class archives: what a member loads at its boot, parsed once per machine, which halves every boot after that.

Java calls it class data sharing. An archive fits one Java runtime and one home; where it does not fit, or is missing,
Java boots without it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.lab.cache import exclusive
from tests.lab.errors import LabError
from tests.lab.opensearch.homes import fetch_home
from tests.lab.opensearch.image import DEFAULT_HEAP, archive_path, class_path
from tests.lab.opensearch.java import java_path
from tests.lab.opensearch.trial import Member, trial_member

# Java writes longer lines into its class list than it reads back (they describe lambdas, which may be left out).
_LONGEST_LINE = 4000


def make_archive(version: str) -> Path:
    """Gives the class archive of a version, making it first where needed (about 20 s, 95 MB).

    Raises:
        LabError: the version cannot be fetched, does not boot, or Java cannot write the archive.
    """
    home = fetch_home(version)
    archive = archive_path(home)
    with exclusive(home.parent / f".{version}.lock"):
        if not archive.exists():
            print(f"archiving the classes of OpenSearch {version}, once per machine", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory(dir=home.parent, prefix=f".{version}-") as directory:
                Path(directory).chmod(0o755)  # the member runs as another user when we are root
                _dump(home, _class_list(version, Path(directory)), archive)
    return archive


def _class_list(version: str, directory: Path) -> Path:
    """Boots a member, has it do what every member does, and gives the list of the classes that it loaded."""
    listing = directory / "scratch" / "classes.list"
    options = {"OPENSEARCH_JAVA_OPTS": f"{DEFAULT_HEAP} -XX:DumpLoadedClassList={listing}"}
    with trial_member(version, directory, options) as member:
        _exercise(member)
        member.stop()
    short = directory / "short.list"
    with listing.open() as lines:
        short.write_text("".join(line for line in lines if len(line) < _LONGEST_LINE))
    return short


def _exercise(member: Member) -> None:
    member.ask("/trial", "PUT", {"settings": {"index": {"number_of_replicas": 0}}})
    member.ask("/trial/_doc/1?refresh=true", "PUT", {"text": "amber basalt", "number": 1})
    member.ask("/trial/_search", "POST", {"query": {"match": {"text": "amber"}}})
    member.ask("/_cluster/health?level=shards")
    member.ask("/_cluster/settings", "PUT", {"persistent": {"cluster.routing.allocation.enable": None}})


def _dump(home: Path, listing: Path, archive: Path) -> None:
    draft = listing.with_name(archive.name)
    command = [str(java_path()), "-Xshare:dump", f"-XX:SharedClassListFile={listing}", f"-XX:SharedArchiveFile={draft}"]
    done = subprocess.run(
        [*command, "-cp", class_path(home)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0 or not draft.exists():
        last = " / ".join(done.stdout.splitlines()[-3:])
        raise LabError(f"Java could not archive the classes of {home} ({last}); members boot without it, only slower.")
    draft.chmod(0o644)
    draft.replace(archive)
