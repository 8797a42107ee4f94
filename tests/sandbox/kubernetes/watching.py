"""Watches. An answer holds what has happened, as soon as something has; whoever watches then asks again from there.

Servers end a watch whenever they like, so that each of them may be as short as its first changes.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator

from tests.sandbox.kubernetes.objects import Json, Kind, Refused
from tests.sandbox.kubernetes.store import Change, Store
from tests.sandbox.web import Answer, Pending

LONGEST = 60.0


class Watch:
    """One request for the changes of a collection."""

    def __init__(self, store: Store, kind: Kind, namespace: str, fits: Callable[[Json], bool]) -> None:
        self._store, self._kind, self._namespace, self._fits = store, kind, namespace, fits

    def answer(self, since: str, seconds: float, *, bookmarks: bool) -> Answer | Pending:
        """The answer to a watch since a version; without one it starts with the objects that are there."""
        if since in {"", "0"}:
            present = [("ADDED", each) for each in self._store.list(self._kind, self._namespace) if self._fits(each)]
            if present:
                return self._lines(present, bookmarks=bookmarks)
            since = str(self._store.version)
        version = int(since)
        if version < self._store.compacted:
            gone = Refused(410, "Expired", f"too old resource version: {version} ({self._store.compacted})")
            return Answer(200, json.dumps({"type": "ERROR", "object": gone.body()}) + "\n", _PLAIN)
        return Pending(
            lambda: any(True for _each in self._since(version)),
            seconds,
            lambda: self._lines(list(self._since(version)), bookmarks=bookmarks),
        )

    def _since(self, version: int) -> Iterator[tuple[str, Json]]:
        history = self._store.history
        for each in history[bisect_right(history, version, key=lambda change: change.version) :]:
            if each.kind.key == self._kind.key and (said := self._said(each)):
                yield said

    def _said(self, change: Change) -> tuple[str, Json] | None:
        """The change as a watch of only a part of the objects sees it."""
        if self._namespace not in {"", change.item["metadata"].get("namespace", "")}:
            return None
        fitted = change.before is not None and self._fits(change.before)
        fits = change.type != "DELETED" and self._fits(change.item)
        if not fitted and not fits:
            return None
        return ("MODIFIED" if fitted and fits else "ADDED" if fits else "DELETED"), change.item

    def _lines(self, found: list[tuple[str, Json]], *, bookmarks: bool) -> Answer:
        said = [{"type": kind, "object": {**item, **self._type()}} for kind, item in found]
        if bookmarks:
            metadata = {"resourceVersion": str(self._store.version)}
            said.append({"type": "BOOKMARK", "object": {**self._type(), "metadata": metadata}})
        return Answer(200, "".join(json.dumps(each) + "\n" for each in said), _PLAIN)

    def _type(self) -> Json:
        return {"apiVersion": self._kind.api_version, "kind": self._kind.kind}


_PLAIN = {"Content-Type": "application/json"}
