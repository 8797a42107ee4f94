"""The durations of the tasks of a playbook, from the log that Ansible writes. Pure: no client, no clock."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from datetime import datetime

_BEGIN = re.compile(
    r"^(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) .*?\| (?P<what>TASK|PLAY|PLAY RECAP)(?: \[(?P<name>.*)\])? \*+"
)
_OTHER = "(between plays)"


def seconds_by_task(log: str) -> dict[str, float]:
    """Task → seconds from its start to the start of the next, over all hosts and repetitions, the longest first."""
    begun = [
        (datetime.fromisoformat(found["at"].replace(",", ".")), _name(found))
        for found in map(_BEGIN.match, log.splitlines())
        if found
    ]
    seconds: defaultdict[str, float] = defaultdict(float)
    for (at, name), (later, _next) in itertools.pairwise(begun):
        seconds[name] += (later - at).total_seconds()
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))


def _name(found: re.Match[str]) -> str:
    if found["what"] != "TASK":
        return _OTHER
    return str(found["name"]).rpartition(" : ")[2]
