"""The lock inside the OpenSearch cluster, for runs that share no Kubernetes namespace.

A component template is made atomically with `create=true`: of twenty attempts at once one was answered 200 and the
others 400 (seen on 2.19). It lives in the cluster state, so it needs no shard. There is no guarded replacement, so the
locks are numbered, the highest number counts, and a lock is taken over by making the next one. Every write is followed
by a look: a run that wrote a lower number, because another took the lock in between, does not hold it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from typing import Any

from ...common.errors import Conflict, Refusal, refusal
from ...common.reading import Json, Unreadable, listed, part, text, texts, whole, within
from ...run.lock.lease import lease_of
from ...run.lock.lock import Lock, LockStore
from ..observe.answers import reading
from ..observe.client import OpenSearchClient, connect

NAME = "stateful-upgrade-lock"
STOP = "stateful-upgrade-stop"
"""The template with the request to stop. It is not in the lock, because the holder writes that without a guard."""

_TEMPLATES = "/_component_template"
_WRITTEN = frozenset(field.name for field in fields(Lock)) - {"version", "stop"}


def lock_store(params: Mapping[str, Any]) -> LockStore:
    """The store of the lock of these arguments: the cluster, or a Lease. No request is made yet.

    Raises:
        Refusal: the connection options cannot be used.
    """
    if params["lock"]["kept_in"] == "opensearch":
        return ClusterLock(connect(params["opensearch"], params["kubernetes"]))
    return lease_of(params)


class ClusterLock:
    """One lock. `Lock.version` is its number. `write` raises `Conflict` if another was faster."""

    def __init__(self, client: OpenSearchClient) -> None:
        self._client = client

    def read(self) -> Lock | None:
        """The lock with the highest number, or None if there is none."""
        found = self._all()
        locks = {_number(name): meta for name, meta in found.items() if _number(name)}
        if not locks:
            return None
        number = max(locks)
        return _lock_of(locks[number], found.get(STOP, {}), number)

    def write(self, lock: Lock, over: Lock | None) -> Lock:
        """Renew one's own lock, ask its holder to stop, or take the next number if it belongs to another."""
        if over is not None and lock.stop and lock.run == over.run and lock.stop != over.stop:
            self._put(STOP, {"run": lock.run, "stop": lock.stop})
            return replace(lock, version=over.version)
        if over is not None and over.run == lock.run:
            self._put(_name(int(over.version)), _meta(lock))
            return self._held(replace(lock, version=over.version))
        number = int(over.version) + 1 if over is not None else 1
        try:
            self._put(_name(number), _meta(lock), create="true")
        except Refusal as error:
            if "already exists" in str(error):
                raise Conflict(*error.verdict.reasons) from error
            raise
        held = self._held(replace(lock, version=str(number)))
        if over is not None:
            self._delete(_name(int(over.version)))
        return held

    def remove(self, lock: Lock) -> None:
        """Remove this lock, locks of lower numbers that a late renewal may have left, and the request to stop."""
        found = self._all()
        locks = [name for name in found if _number(name)]
        ours = sorted(name for name in locks if _number(name) <= int(lock.version))
        if STOP in found and ours == sorted(locks):
            self._delete(STOP)
        for name in ours:
            self._delete(name)

    def _held(self, lock: Lock) -> Lock:
        """The lock that was just written, if it is the one that counts."""
        now = self.read()
        if now is None or (now.run, now.version) != (lock.run, lock.version):
            said = "Another run has just taken the lock."
            raise Conflict.because("lock_contended", said, "See which run it is with the playbook status.")
        return lock

    def _all(self) -> dict[str, Json]:
        answer = self._client.get(
            _TEMPLATES, filter_path="component_templates.name,component_templates.component_template._meta"
        )
        with reading(f"GET {_TEMPLATES}"):
            return dict(listed(answer, "component_templates", _template, ()))

    def _put(self, name: str, meta: dict[str, Any], **params: str) -> None:
        self._client.put(f"{_TEMPLATES}/{name}", {"template": {}, "_meta": meta}, **params)

    def _delete(self, name: str) -> None:
        self._client.delete(f"{_TEMPLATES}/{name}")


def _template(found: Json) -> tuple[str, Json]:
    """The name of a template and its notes. The notes of foreign templates are not read."""
    name = text(found, "name")
    if name != STOP and not _number(name):
        return name, {}
    with _kept_in(name):
        return name, within(found, "component_template", lambda template: part(template, "_meta", {}), {})


def _name(number: int) -> str:
    return f"{NAME}-{number:06d}"


def _number(name: str) -> int:
    head, _dash, number = name.rpartition("-")
    return int(number) if head == NAME and number.isascii() and number.isdecimal() else 0


def _lock_of(meta: Json, stop: Json, number: int) -> Lock:
    """The lock of a template. One without a holder is free.

    Raises:
        Refusal: the template is there, and is not one that this collection writes.
    """
    with _kept_in(_name(number)):
        lock = Lock(
            **{name: text(meta, name, "") for name in _WRITTEN - {"seconds", "processes"}},
            seconds=whole(meta, "seconds", 0),
            processes=texts(meta, "processes", ()),
            version=str(number),
        )
    with _kept_in(STOP):
        asked = text(stop, "stop", "") if text(stop, "run", "") == lock.run else ""
    return replace(lock, stop=asked)


@contextmanager
def _kept_in(name: str) -> Iterator[None]:
    try:
        yield
    except Unreadable as error:
        raise refusal(
            "lock_not_readable",
            f"The component template {name} in OpenSearch is not a lock that this collection writes: _meta.{error}.",
            f"Find out who wrote it (GET {_TEMPLATES}/{name}), and that no run is at work; then DELETE it.",
        ) from error


def _meta(lock: Lock) -> dict[str, Any]:
    return {name: value for name, value in asdict(lock).items() if name in _WRITTEN}
