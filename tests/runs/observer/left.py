"""The invariants about what is changed for a while: the undo that names it, and all of it put back at the end. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.runs.observer.rules import listed, shard_of
from tests.runs.observer.sight import ANNOTATION, NOTES, Key, Pool, Setting, Sight

Path = tuple[str, ...]
Holders = Mapping[Key, frozenset[str]]
Documents = Mapping[tuple[Key, str], Collection[frozenset[str]]]


def changes_in(text: str) -> dict[Path, tuple[Any, Any]]:
    """The changes in an undo: by path the value that was, and the one that was set."""
    found = json.loads(text)["changes"] if text else []
    return {tuple(each["path"]): (each["was"], each["set_to"]) for each in found}


def differing(before: Sight, now: Sight) -> dict[Setting, tuple[Any, Any]]:
    """The settings that are others than before, as they were and are; None is absent.

    Notes are not among them, nor what the elected manager does not know any more.
    """
    found = {}
    for key in {**before.settings, **now.settings}:
        was, present = before.settings.get(key), now.settings.get(key)
        if was != present and not key[1].startswith(NOTES) and key[1] not in now.retired:
            found[key] = was, present
    return found


def named_by_undo(before: Sight, now: Sight) -> Iterator[str]:
    """The undo names each setting that differs, and the strategy of each pool, with what was before."""
    changed = differing(before, now)
    if changed:
        known = changes_in(now.undo)
        for key, (was, present) in sorted(changed.items()):
            if key not in known:
                yield f"the {key[0]} setting {key[1]} is {present!r}, was {was!r}, and no undo names it"
            elif known[key][0] != was:
                yield f"the undo names {known[key][0]!r} for the {key[0]} setting {key[1]}, which was {was!r}"
    if now.excluded:
        names = json.loads(now.undo).get("voting_exclusions", []) if now.undo else []
        missing = {*now.excluded} - {*names, *before.excluded}
        if missing:
            yield f"{listed(missing)} is excluded from voting, and no undo names it"
    for name, pool in now.pools.items():
        was = before.pools.get(name)
        if was is not None and pool.strategy != was.strategy:
            held = _strategy_in_undo(pool)
            # One that was made again is under OnDelete until its revision is known to be that of before.
            kept = now.kept_sets.get(name)
            if was.strategy not in (held, *([_strategy_in_undo(kept) or kept.strategy] if kept else [])):
                yield f"the strategy of {name} is {pool.strategy}, was {was.strategy}, and its undo says {held}"


def _strategy_in_undo(pool: Pool) -> Any:
    was, _set_to = changes_in(pool.annotations.get(ANNOTATION, "")).get(("spec", "updateStrategy"), (None, None))
    return was


def sets_kept(before: Sight, now: Sight) -> Iterator[str]:
    """The manifest of a StatefulSet that is gone is kept."""
    lost = before.pools.keys() - now.pools.keys() - now.kept_sets.keys()
    if lost:
        yield f"the StatefulSet of {listed(lost)} is gone, and no manifest of it is kept"


REPLICAS = ("number_of_replicas", "auto_expand_replicas")


def replicas_named(before: Sight, now: Sight) -> Iterator[str]:
    """The undo of replicas names each index that has another number than before, with what was."""
    known = changes_in(now.undo_of_replicas)
    for name, own in before.indices.items():
        found = now.indices.get(name, {})
        if found.get("uuid") != own["uuid"]:
            continue
        for setting in REPLICAS:
            was, present = own.get(setting), found.get(setting)
            held = known.get((name, own["uuid"], f"index.{setting}"))
            if was != present and (held is None or held[0] != was):
                yield f"{setting} of index {name} is {present!r}, was {was!r}, and its undo says {held}"


def all_put_back(before: Sight, now: Sight, size: str = "") -> Iterator[str]:
    """After a whole upgrade everything is as before, but for images, versions, and the `size` of claims if given."""
    yield from changes_put_back(before, now)
    yield from _pools_put_back(before, now, size)


def changes_put_back(before: Sight, now: Sight) -> Iterator[str]:
    """After an abort everything is as before, but for the pools: one whose roll is not finished stays as it is."""
    for (scope, name), (was, present) in sorted(differing(before, now).items()):
        yield f"the {scope} setting {name} was {was!r} and is {present!r}"
    if now.undo:
        yield f"the cluster still carries an undo: {now.undo}"
    if now.undo_of_replicas:
        yield f"the cluster still carries an undo of replicas: {now.undo_of_replicas}"
    if set(now.excluded) != set(before.excluded):
        yield f"the members excluded from voting were {listed(before.excluded)} and are {listed(now.excluded)}"
    if now.emptied:
        yield f"the Kubernetes nodes {listed(now.emptied)} are marked as being emptied"
    if now.cordoned:
        yield f"the Kubernetes nodes {listed(now.cordoned)} are cordoned, with an undo of a run"
    if now.holder:
        yield f"the lock is still held by {now.holder}"
    for name, own in before.indices.items():
        found = now.indices.get(name)
        if found is not None and found["uuid"] == own["uuid"] and found != own:
            yield f"the settings of index {name} were {dict(own)} and are {dict(found)}"


def _pools_put_back(before: Sight, now: Sight, size: str) -> Iterator[str]:
    if now.kept_sets:
        yield f"the manifests of {listed(now.kept_sets)} are still kept"
    if before.pools.keys() != now.pools.keys():
        yield f"the pools were {listed(before.pools)} and are {listed(now.pools)}"
    for name in before.pools.keys() & now.pools.keys():
        was, pool = before.pools[name], now.pools[name]
        if was.strategy != pool.strategy:
            yield f"the strategy of {name} was {was.strategy} and is {pool.strategy}"
        if was.annotations != pool.annotations:
            yield f"the annotations of {name} were {was.annotations} and are {pool.annotations}"
        if _without_images(was, size) != _without_images(pool):
            yield f"the spec of {name} is another one, in more than its images and its strategy"


def _without_images(pool: Pool, size: str = "") -> Any:
    kept = {name: value for name, value in pool.spec.items() if name != "updateStrategy"}
    text = json.dumps(kept, sort_keys=True)
    if size:
        text = re.sub(r'("requests": {"storage": )"[^"]*"', rf'\1"{size}"', text)
    for image in sorted({*pool.images.values()}, key=len, reverse=True):
        text = text.replace(json.dumps(image), '""')
    return text


def all_there(before: Sight, now: Sight, target: str, hit: Collection[str], holders: Holders) -> Iterator[str]:
    """All members are there on the target version, and each shard has as many started copies as before, or all.

    A member hit by a foreign fault just now may be away, with its copies. `holders` are the members that have had one.
    """
    behind = [name for name in sorted(now.expected()) if now.members[name].version != target]
    if behind:
        yield f"{listed(behind)} is not on {target}"
    missing = [name for name in sorted(now.expected()) if not now.members[name].serves and name not in hit]
    if missing:
        yield f"{listed(missing)} is not in the cluster"
    there = {name for name, pod in now.pods.items() if not pod.going}
    if there - {*hit} != before.pods.keys() - {*hit}:
        yield f"the pods were {listed(before.pods)} and are {listed(there)}"
    for key, was in before.shards.items():
        shard = now.shards.get(key)
        if (
            shard is None
            or shard.whole
            or len(shard.started) >= len(was.started)
            or {*hit} & holders.get(key, frozenset())
        ):
            continue
        yield f"{shard_of(key)} had {len(was.started)} started copies and has {len(shard.started)}"


def documents_kept(before: Documents, now: Documents) -> Iterator[str]:
    """Each started copy has every document that was there before, if its index is still there."""
    for key, copies in before.items():
        wanted = frozenset[str]().union(*copies)
        for own in now.get(key, ()):
            if wanted - own:
                yield f"a copy of {shard_of(key[0])} lacks documents: {listed(wanted - own)}"


def exactly_named(before: Sight, now: Sight) -> Iterator[str]:
    """After a run that has not completed, the undo names exactly what differs, as it was and as it is.

    It may also name what others have changed since, which is no change of the run any more.
    """
    changed = differing(before, now)
    for (scope, name), (was, set_to) in sorted(changes_in(now.undo).items()):
        present = now.settings.get((scope, name))
        if present != set_to or name in now.retired:
            continue
        if changed.pop((scope, name), None) != (was, set_to):
            before_it = before.settings.get((scope, name))
            yield f"the undo says that the {scope} setting {name} was {was!r}, and it was {before_it!r}"
    for (scope, name), (was, present) in sorted(changed.items()):
        yield f"the {scope} setting {name} was {was!r} and is {present!r}, and the undo does not name it so"


def after_others(before: Sight, was: Sight, now: Sight) -> Sight:
    """The sight of `before`, with what others have changed between `was` and `now`: this is not put back by a run."""
    settings, pools, indices = {**before.settings}, {**before.pools}, {**before.indices}
    for key in {**was.settings, **now.settings}:
        if was.settings.get(key) != now.settings.get(key) and not key[1].startswith(NOTES):
            settings[key] = _without_own(changes_in(now.undo).get(key), now.settings.get(key))
    for name, pool in now.pools.items():
        former, kept = was.pools.get(name), before.pools.get(name)
        if former is None or kept is None or former.spec == pool.spec:
            continue
        strategy = kept.strategy if former.strategy == pool.strategy else pool.strategy
        replicas = kept.replicas if former.replicas == pool.replicas else pool.replicas
        # A run may have one member more in the pool whose image another changes.
        spec = _of_others(kept.spec, former.spec, pool.spec)
        pools[name] = replace(kept, strategy=strategy, replicas=replicas, spec=spec, images=pool.images)
    for name, own in now.indices.items():
        if was.indices.get(name) != own:
            kept_index = before.indices.get(name, {})
            made_again = kept_index.get("uuid") != own["uuid"]
            indices[name] = own if made_again else _of_others(kept_index, was.indices.get(name, {}), own)
    present = {key: value for key, value in settings.items() if value is not None}
    return replace(before, settings=present, pools=pools, indices=indices)


def _of_others(before: Mapping[str, Any], was: Mapping[str, Any], now: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields as they were before, with those that others have changed between `was` and `now`."""
    changed = {name: now.get(name) for name in {**was, **now} if was.get(name) != now.get(name)}
    return {name: value for name, value in {**before, **changed}.items() if value is not None}


def without_unseen(before: Sight, was: Sight, now: Sight, unseen: Mapping[Setting, Any]) -> Sight:
    """The sight of `before`, without what others have set just before the run, which could not see it, set it as well.

    No server takes a change of settings on condition that they are as they were seen.
    """
    lost = {key: value for key, value in unseen.items() if was.settings.get(key) != now.settings.get(key)}
    settings = {**before.settings, **lost}
    return replace(before, settings={key: value for key, value in settings.items() if value is not None})


def _without_own(change: tuple[Any, Any] | None, present: Any) -> Any:
    """A value that another has set, without the names that the run has added to a list."""
    if change is None or present is None or "," not in f"{present},{change[1]}":
        return present
    was, set_to = ({*str(each or "").split(",")} for each in change)
    left = [each for each in str(present).split(",") if each not in set_to - was]
    return ",".join(left) or None
