"""Putting back settings and exclusions from voting: all that the carried undo names, or a part of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from ...common.task import Outcome, Task
from ...common.verdict import Reason, Verdict, refused, remark
from ...common.words import enumerate_few
from ...kubernetes import client as kubernetes
from ...run.lock.lease import lease_at
from ...run.lock.lock import LockStore
from ...run.lock.lock_watch import Writers
from ...run.undo.undo import Change, Undo, left_alone
from ..judge.changes import not_in_force, settings_body, split_ours, value_back
from ..observe.client import OpenSearchClient
from ..observe.cluster import observe_voting
from ..observe.products import ELASTICSEARCH
from ..observe.settings import ENABLE, EXCLUDING, UNDO, Settings, excluded_by, with_excluded
from ..observe.state import Voting
from .cluster_lock import ClusterLock
from .settings_change import OF_RUN, name_of, removed_remarks, removing, shown, there, to_remove, undo_here, write
from .shutdown import unregister
from .voting import refused_by_server, take_back

ALONE: Mapping[str, tuple[str, ...]] = {"undrained": (EXCLUDING,), "unrestricted": (ENABLE,)}
"""The prefixes of the only settings that a state puts back, although the undo may name more."""


def restore(task: Task, client: OpenSearchClient, settings: Settings) -> Outcome:
    """Put back the carried undo exactly, or a part of it, for values that are still the run's; drop that part."""
    before = shown(settings)
    undo = undo_here(client, settings)
    if undo is not None:
        # The run that wrote it must have ended, whichever of the two stores has its lock.
        Writers(task, lambda place: store_of(task, client, place), "shard_allocation").judge(undo.writer)
    going = tuple(change for change in undo.changes if _is_asked_for(task, change)) if undo else ()
    # Putting everything back also lifts the run's voting exclusions; putting a single setting back does not.
    voters = excluded_by(undo) if task.params["state"] not in ALONE else ()
    voting = observe_voting(client) if voters else Voting(frozenset(), frozenset())
    # A run excludes members only. One that is away now was a member when it was excluded.
    unknown = voting.absent.intersection(voters)
    voters = () if unknown else voters
    refusals = tuple(_refusals(undo, unknown)) if undo else ()
    idle = undo is None or (_names_anything(undo) and not going and not voters)
    everything = (task.params["state"], task.params["part"]) == ("restored", "all")
    may_be_registered = everything if idle else task.params["state"] != "undrained"
    found = may_be_registered and client.product is ELASTICSEARCH and unregister(task, client)
    if undo is None or idle:
        return Outcome(Verdict(refusals), found, before, before)
    strangers, failed = set[str](), None
    if voters:
        # Settings are put back even if the server does not let the members vote again.
        failed = refused_by_server(lambda: strangers.update(take_back(task, client, voting, voters)), lost=False)
    ours, others = split_ours(replace(undo, changes=going), settings)
    back = tuple(replace(each, was=value_back(each, settings.at(each.path))) for each in ours)
    removed = to_remove(task, settings)
    acts = [("restored", name_of(each), {"value": each.was, "was": settings.at(each.path)}) for each in back]
    left = with_excluded(undo.without(going), excluded_by(undo) if failed or strangers or not voters else ())
    left_undo = left if _names_anything(left) else None
    write(task, client, settings_body(back, left_undo, back=True, removed=removed), [*acts, *removing(removed)])
    if failed is not None:
        raise failed
    after = {**before, **{name_of(change): change.was for change in back}, **{name_of(each): None for each in removed}}
    remarks = (
        *(setting_left_alone(undo, change, settings) for change in others),
        *(not_in_force(settings, back) if client.product is ELASTICSEARCH else ()),
        *_strange(undo, strangers),
        *removed_remarks(removed),
        *refusals,
    )
    return Outcome(Verdict(remarks), True, before, there(after))


def store_of(task: Task, client: OpenSearchClient, place: Mapping[str, str]) -> LockStore:
    """The store of the lock at that place, whichever run holds it."""
    if place["kept_in"] == "opensearch":
        return ClusterLock(client)
    return lease_at(kubernetes.connect(task.params["kubernetes"]), place)


def _is_asked_for(task: Task, change: Change) -> bool:
    alone = ALONE.get(task.params["state"])
    if alone is not None:
        return change.name.startswith(alone)
    return task.params["part"] == "all" or change.name not in OF_RUN


def _names_anything(undo: Undo) -> bool:
    return bool(undo.changes or undo.foreign or excluded_by(undo))


def setting_left_alone(undo: Undo, change: Change, settings: Settings) -> Reason:
    """The remark on a setting that another has changed since."""
    return left_alone(undo.writer, change, f"the {change.path[0]} setting {change.name}", settings.at(change.path))


def _refusals(undo: Undo, unknown: Collection[str]) -> Iterator[Reason]:
    """The refusals for names in the undo that no run changes. The rest of it is put back all the same."""
    if unknown:
        yield refused(
            "undo_refused",
            f"The undo of run {undo.writer.run} says that it excluded {enumerate_few(excluded_by(undo))} from voting."
            f" No member was called {enumerate_few(unknown)} then, and a run excludes only members."
            " So all exclusions are left as they are.",
            "Remove the exclusions with DELETE _cluster/voting_config_exclusions?wait_for_removal=false, then set"
            f" {UNDO} to null.",
        )
    for each in undo.foreign:
        values = f"{each.set_to!r}, before {each.was!r}"
        yield refused(
            "undo_refused",
            f"The undo of run {undo.writer.run} says that the {each.path[0]} setting {each.name} was set to"
            f" {values}. No run of this collection changes that, so both the setting and the undo of it are left as"
            " they are.",
            f"Compare that setting with what is wanted, then set {UNDO} to null.",
        )


def _strange(undo: Undo, strangers: Collection[str]) -> Iterator[Reason]:
    if strangers:
        yield remark(
            "changed_by_another",
            f"Run {undo.writer.run} excluded {enumerate_few(excluded_by(undo))} from voting, and something else has"
            f" excluded {enumerate_few(strangers)} since. The server can only remove all, so all are left.",
            "Remove them with DELETE _cluster/voting_config_exclusions?wait_for_removal=false.",
        )
