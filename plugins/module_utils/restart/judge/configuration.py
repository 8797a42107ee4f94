"""The keys of a configuration Secret: which are written, what a process must find mounted, and which are left over.

Pure. The checksum of a content is the SHA-256 of exactly the bytes of its key, which are the bytes of the mounted file.
Contents are given and taken by member; no sentence, result or repr has one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from ...common.verdict import Reason, as_verdict, refused, waiting
from ...common.words import enumerate_few
from ...run.record.figures import timestamp
from ..observe.state import POOL, PREVIOUS, ConfigurationSecret

MOST_BYTES = 1_048_576
"""The most bytes of all contents of one Secret together (server source, validation.MaxSecretSize)."""
ABANDONED = 900.0
"""Seconds for which no pod has used a Secret before it is deleted."""

Contents = Mapping[str, bytes]


def checksum(content: bytes) -> str:
    """The checksum of a content, as a process sees it in its mounted file."""
    return hashlib.sha256(content).hexdigest()


def _order(name: str) -> tuple[str, int, str]:
    """The order of members: that of their ordinals, where they have one."""
    prefix, _dash, number = name.rpartition("-")
    return (prefix, int(number), name) if number.isascii() and number.isdecimal() else (name, -1, name)


def keys_to_remove(current: Collection[str], wanted: Collection[str], pods: Collection[str]) -> tuple[str, ...]:
    """The members whose keys go, since they are not wanted and their pod is gone. `pods` are those that exist."""
    return tuple(sorted({*current} - {*wanted} - {*pods}, key=_order))


Data = dict[str, "bytes | None"]
"""Keys to write; None removes one."""


def with_contents(secret: ConfigurationSecret, contents: Contents) -> Data:
    """The keys to write so that these members have these contents, and what they ran before is kept.

    A content that is replaced twice stays what it was first. One that comes back no longer needs to be kept.
    """
    present, previous = secret.contents, secret.previous
    made: Data = {}
    for name, content in contents.items():
        if present.get(name) == content:
            continue
        made[name] = content
        before = previous.get(name, present.get(name))
        if before == content:
            made[name + PREVIOUS] = None
        elif before is not None:
            made[name + PREVIOUS] = before
    return made


def without_previous(secret: ConfigurationSecret, members: Collection[str]) -> Data:
    """The keys to write once the run of these members is complete."""
    return {name + PREVIOUS: None for name in secret.previous if name in members}


def size_after(data: Mapping[str, bytes], written: Mapping[str, bytes | None]) -> int:
    """The bytes of a Secret once these keys are written."""
    after: dict[str, bytes | None] = {**data, **written}
    return sum(len(content) for content in after.values() if content is not None)


@as_verdict
def judge_secret(name: str, secret: ConfigurationSecret | None, members: Collection[str]) -> Iterator[Reason]:
    """Whether a Secret is there with a key for each of these members, which have no new content of their own."""
    if secret is None:
        yield waiting(
            "configuration_missing",
            f"The Secret {name} with the configuration of the members is not there.",
            "Make it, or give the configuration to the run.",
        )
        return
    missing = [member for member in members if member not in secret.contents]
    if missing:
        yield waiting(
            "configuration_missing",
            f"The Secret {name} has no configuration for {enumerate_few(missing)}.",
            "Add a key of that name, or give the configuration to the run.",
        )


@as_verdict
def judge_writing(
    name: str, secret: ConfigurationSecret | None, pool: str, written: Mapping[str, bytes | None]
) -> Iterator[Reason]:
    """Whether these keys can be written to a Secret: it has the pool's label, is changeable and large enough."""
    if secret is not None and secret.pool != pool:
        whose = f"holds the configuration of {secret.pool}" if secret.pool else f"has no label {POOL}"
        yield refused(
            "configuration_of_another",
            f"The Secret {name} {whose}, so it is not changed for the pool {pool}.",
            f"Run kubectl label secret {name} {POOL}={pool} if no other tool writes it; or name another one.",
        )
    if secret is not None and secret.immutable:
        yield refused(
            "configuration_immutable",
            f"The Secret {name} is immutable, so no configuration can be written to it.",
            "Make a Secret of another name that is not, and mount that.",
        )
    if (size := size_after(secret.data if secret else {}, written)) > MOST_BYTES:
        yield refused(
            "configuration_too_large",
            f"The configurations in the Secret {name} would have {size} bytes with those that are kept until the run"
            f" is complete, and a Secret has at most {MOST_BYTES}.",
            "Divide the pool, or make the configurations smaller.",
        )


class Upkeep(str, Enum):
    """The next step for a Secret with configurations."""

    LEAVE = "leave"
    MARK = "mark"
    """No pod uses it, and no run has seen that before."""
    UNMARK = "unmark"
    COLLECT = "collect"


@dataclass(frozen=True)
class Due:
    """A Secret and its next step."""

    secret: ConfigurationSecret = field(repr=False)
    step: Upkeep


def upkeep(secrets: Iterable[ConfigurationSecret], used: Collection[str], now: datetime) -> tuple[Due, ...]:
    """The next step for each of these Secrets. A mark that cannot be read, or is in the future, is set again."""
    return tuple(Due(each, _step(each, each.name in used, now)) for each in secrets)


def _step(secret: ConfigurationSecret, used: bool, now: datetime) -> Upkeep:
    if not secret.pool or used:
        return Upkeep.UNMARK if secret.pool and secret.unused_since else Upkeep.LEAVE
    since = timestamp(secret.unused_since)
    if since is None or since > now:
        return Upkeep.MARK
    return Upkeep.COLLECT if (now - since).total_seconds() >= ABANDONED else Upkeep.LEAVE
