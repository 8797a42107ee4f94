"""The configurations that a user wants, who is due for one, and the content that a restart brings. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...common.errors import Refusal
from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ..observe.state import SHOWN, ConfigurationSecret
from .configuration import checksum
from .configuration_file import settings_in
from .labels import labels_in
from .phases import UNSURE, Marked
from .settings_table import rule_of

Contents = Mapping[str, bytes]


@dataclass(frozen=True)
class WantedConfiguration:
    """The configuration that a user wants for one pool."""

    pool: str
    secret: str
    path: str = ""
    """The file that the server reads; empty for that of its official image."""
    content: bytes | None = field(default=None, repr=False)
    """The content for every member without one of its own; None leaves these members as they are."""
    own: Contents = field(default_factory=dict, repr=False)
    """The content of single members."""
    labels: Mapping[str, str | None] = field(default_factory=dict)
    """The labels that each pod has once it runs the content; None removes one."""
    previous: bool = False
    """Whether members are to have again what they had before the run that was not completed."""

    def contents(self, members: Iterable[str], secret: ConfigurationSecret | None) -> dict[str, bytes]:
        """The content of each of these members that has a wanted one. The Secret holds what they had before."""
        if self.previous:
            kept = secret.previous if secret else {}
            return {name: kept[name] for name in members if name in kept}
        every = {} if self.content is None else dict.fromkeys(members, self.content)
        return {**every, **{name: each for name, each in self.own.items() if name in members}}


def wanted_in(given: Iterable[Mapping[str, Any]]) -> dict[str, WantedConfiguration]:
    """The wanted configurations by pool, from the option of a module."""
    return {
        each["pool"]: WantedConfiguration(
            pool=each["pool"],
            secret=each.get("secret") or f"{each['pool']}-configuration",
            path=each.get("path") or "",
            content=None if each.get("content") is None else str(each["content"]).encode(),
            own={name: str(content).encode() for name, content in (each.get("contents") or {}).items()},
            labels=labels_in(each.get("labels")),
            previous=bool(each.get("previous")),
        )
        for each in given
    }


@as_verdict
def judge_wanted(given: Iterable[Mapping[str, Any]], members: Mapping[str, Collection[str]]) -> Iterator[Reason]:
    """Whether what a user wants can be read, and is for members that exist; `members` are those of each pool."""
    pools = [each["pool"] for each in given]
    if twice := sorted({pool for pool in pools if pools.count(pool) > 1}):
        yield refused(
            "configuration_twice",
            f"The configuration of pool {twice[0]} is given more than once.",
            "Give each pool once, and contents of single members under contents.",
        )
    for pool, wanted in wanted_in(given).items():
        if pool not in members:
            yield refused(
                "configuration_pool_unknown",
                f"A configuration is given for pool {pool}, which is none of this cluster's pools:"
                f" {enumerate_few(sorted(members))}.",
                "Correct its name, or leave it out.",
            )
        elif strangers := sorted(wanted.own.keys() - {*members[pool]}):
            yield refused(
                "configuration_member_unknown",
                f"A configuration is given for {enumerate_few(strangers)}, which is not a member of pool {pool}.",
                "Correct the names under contents, or leave them out.",
            )
        if wanted.previous and (wanted.own or wanted.content is not None):
            yield refused(
                "configuration_or_previous",
                f"Pool {pool} is to have a new configuration and its previous one.",
                "Give content or contents, or previous, and not both.",
            )
        yield from _unreadable(wanted)


def _unreadable(wanted: WantedConfiguration) -> Iterator[Reason]:
    contents = {f"pool {wanted.pool}": wanted.content, **{f"member {n}": each for n, each in wanted.own.items()}}
    for whose, content in sorted(contents.items()):
        try:
            settings = settings_in((content or b"").decode("utf-8", "surrogateescape"), whose)
        except Refusal as error:
            yield from error.verdict.reasons
            continue
        # A file with variables, a manifest or a playbook may be read as settings, too.
        if settings and not any(rule_of(name).source for name in settings):
            yield refused(
                "configuration_not_valid",
                f"The content for {whose} is no configuration of a server: none of its names is a setting that servers"
                f" know ({enumerate_few(sorted(settings))}).",
                "Give the file that the servers read, such as opensearch.yml. One with settings of plugins alone needs"
                " cluster.name as well.",
            )


def is_due(mark: Marked, present: bytes | None, wanted: bytes | None) -> bool:
    """Whether a member is to be restarted for the wanted content.

    The checksum that its last restart has brought counts. A member that was never restarted here has read the content
    that is present. One that is present and not wanted would be read at the next start, whatever the member runs.
    A restart that was taken back after its content was chosen may have written it, and has not brought it.
    """
    if wanted is None:
        return False
    if mark.chosen and mark.phase is None:
        return True
    there = checksum(present) if present is not None else ""
    return {mark.configured or there, there or mark.configured} != {checksum(wanted)}


def chosen(mark: Marked, present: bytes | None, wanted: bytes | None, *, runs: bool) -> bytes | None:
    """The content that the restart of a member brings; None if there is none at all.

    A restart whose content was written already finishes on it, and a later wish waits for another restart: a process
    may be reading it just now. If no process `runs`, since it cannot start on that content, the wish is taken.
    """
    if wanted is None or (runs and _is_written(mark, present)):
        return present
    return wanted


def is_edited(mark: Marked, present: bytes | None, wanted: bytes | None) -> bool:
    """Whether someone else has written the present content since the run started.

    It is neither the one that the run has found, nor one that a restart has noted before writing it.
    """
    if not mark.found or present is None or wanted is None:
        return False
    return checksum(present) not in (mark.found, mark.chosen, checksum(wanted))


@as_verdict
def judge_edited(mark: Marked, secret: str, present: bytes, wanted: bytes, *, runs: bool) -> Iterator[Reason]:
    """A refusal to overwrite the content of someone else; `runs` says whether the process was not stopped yet."""
    sums = [each[:SHOWN] for each in (mark.found, checksum(present), checksum(wanted))]
    state = "It runs as before" if runs else "Its process was stopped already, and was started on that content"
    yield refused(
        "configuration_edited",
        f"Someone else has changed the configuration of {mark.name} in the Secret {secret} since the run began: it was"
        f" {sums[0]} and is {sums[1]}, and the run brings {sums[2]}. {state}.",
        "Take that change into the content that you give, or put it back in the Secret. Then run again, which shows a"
        " plan from what is there.",
    )


@dataclass(frozen=True)
class Runs:
    """The content that a member runs and the one in its file, each by its checksum."""

    member: str
    runs: str
    file: str


@as_verdict
def judge_running(found: Iterable[Runs]) -> Iterator[Reason]:
    """A remark on members that do not run the content that their file holds at the end of a run."""
    others = [each for each in found if each.runs and each.file and each.runs != each.file]
    if others:
        named = [f"{each.member} (runs {each.runs[:SHOWN]}, has {each.file[:SHOWN]})" for each in others]
        yield remark(
            "configuration_not_run",
            f"The configuration was changed after these processes had started: {enumerate_few(named)}. They do not run"
            " what their file holds.",
            "Run again to have them restarted on it, or put the content back.",
        )


def note_of(mark: Marked, present: bytes | None, content: bytes) -> str:
    """The note of the content that a restart brings, which is made before that is written.

    If it replaces one that was written already, it is not known which of the two the process reads. It restarts once
    more afterwards, since the note is the checksum of none.
    """
    replaces = content != present and _is_written(mark, present)
    return UNSURE if replaces or mark.chosen == UNSURE else checksum(content)


def _is_written(mark: Marked, present: bytes | None) -> bool:
    return present is not None and bool(mark.chosen) and checksum(present) == mark.chosen
