"""The API server: requests in, answers out. It needs no socket and no time of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes import definitions, discovery, reviews, subresources
from tests.sandbox.kubernetes.faults import Faults
from tests.sandbox.kubernetes.kinds import DEFINITIONS, PODS, SERVICE_ACCOUNTS, Kinds
from tests.sandbox.kubernetes.objects import Json, Kind, Refused, bad_request, details_of, no_such_path, not_found
from tests.sandbox.kubernetes.pages import Pages
from tests.sandbox.kubernetes.patches import merged, operated, strategic
from tests.sandbox.kubernetes.requests import Target, is_watch, target_of
from tests.sandbox.kubernetes.resources import Resources, Writing
from tests.sandbox.kubernetes.rights import Attributes, Rights, User
from tests.sandbox.kubernetes.selectors import fields_match, labels_match
from tests.sandbox.kubernetes.store import Change, Store
from tests.sandbox.kubernetes.watching import LONGEST, Watch
from tests.sandbox.web import Answer, Pending, Request

MERGE, OPERATIONS = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
_BODIES = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
"""The types of the options of a deletion."""
_PATCHES: dict[str, Callable[[Any, Any], Any]] = {OPERATIONS: operated, MERGE: merged, STRATEGIC: strategic}


class ApiServer:
    """A `Handler`. It knows its user by the bearer token of the request."""

    def __init__(self, clock: Clock, users: Mapping[str, User]) -> None:
        self.kinds = Kinds()
        self.store = Store(clock)
        self.resources = Resources(self.store, self.kinds)
        self.rights = Rights(self.store, users)
        self.faults = Faults()
        self._pages = Pages()
        self.logs: Callable[[Json, str, bool], list[str]] = lambda _pod, _container, _previous: []
        """The lines of the log of a pod's container, or of its run before the last restart."""
        self.stream: subresources.Stream = lambda _pod, container, _request: subresources.not_running(container)
        self.store.listeners.append(self._defined)

    def __call__(self, request: Request) -> Answer | Pending:
        """The answer. Raises CutOff where a fault asks for it."""
        return self.faults.around(request, self._answer)

    def _answer(self, request: Request) -> Answer | Pending:
        try:
            headers = {key.lower(): value for key, value in request.headers.items()}
            user = self.rights.user_of(headers.get("authorization", ""))
            target = target_of(request.path)
            if target is None:
                self.rights.demand_path(user, request.method.lower(), request.path)
                return _told(discovery.told(request.path, self.kinds))
            verb = target.verb(request.method, request.query)
            place, subresource = target.namespace, target.subresource
            wanted = Attributes(verb, target.group, target.plural, subresource, place, target.name)
            self.rights.demand(user, wanted)
            if (target.plural, subresource) == ("pods", "exec"):
                self.rights.demand_creation(user, wanted)
            return self._asked(request, target, user, headers)
        except Refused as error:
            return Answer(error.code, error.body(), error.headers)

    def _asked(self, request: Request, target: Target, user: User, headers: Mapping[str, str]) -> Answer | Pending:
        if reviews.is_review(target):
            if request.method != "POST":
                raise _not_allowed()
            return Answer(201, reviews.answer_of(target, _body(request), user, self.rights))
        kind = self.kinds.find(target.group, target.version, target.plural)
        if kind is None:
            groups = {(each.group, each.version) for each in self.kinds if not each.custom}
            if (target.group, target.version) in groups:
                raise no_such_path()
            return _told(None)
        writing = _writing(request, target, headers)
        if target.subresource and not (target.subresource == "status" and kind.status):
            return self._subresource(request, target, kind, writing, headers)
        if target.name:
            return self._object(request, target, kind, writing, headers)
        return self._collection(request, target, kind, writing)

    def _subresource(
        self, request: Request, target: Target, kind: Kind, writing: Writing, headers: Mapping[str, str]
    ) -> Answer | Pending:
        if kind == SERVICE_ACCOUNTS and target.subresource == "token" and request.method == "POST":
            return Answer(201, reviews.token_of(target, _body(request), self.resources, self.rights))
        if kind == PODS and target.subresource == "eviction" and request.method == "POST":
            return Answer(201, subresources.evict(self.resources, target, _body(request), dry_run=writing.dry_run))
        if kind == PODS and target.subresource == "log" and request.method == "GET":
            return Answer(200, subresources.log(self.resources, target, request.query, self.logs), _TEXT)
        if kind == PODS and target.subresource == "exec" and request.method in {"GET", "POST"}:
            return subresources.execute(self.resources, target, request, self.stream)
        if target.subresource == "scale" and kind.scale:
            return self._scale(request, target, kind, writing, headers)
        raise not_found(kind, target.name) if kind.custom else no_such_path()

    def _scale(
        self, request: Request, target: Target, kind: Kind, writing: Writing, headers: Mapping[str, str]
    ) -> Answer:
        present = subresources.scale_of(kind, self.resources.get(kind, target.namespace, target.name))
        if request.method == "GET":
            return Answer(200, present)
        if request.method == "PATCH":
            wanted = _patch(kind, headers)(present, request.body)
        elif request.method == "PUT":
            wanted = _body(request)
        else:
            raise _not_allowed()
        change = subresources.scaling(wanted)
        return Answer(
            200,
            subresources.scale_of(kind, self.resources.change(kind, target.namespace, target.name, change, writing)),
        )

    def _object(
        self, request: Request, target: Target, kind: Kind, writing: Writing, headers: Mapping[str, str]
    ) -> Answer | Pending:
        place = (kind, target.namespace if kind.namespaced else "", target.name)
        if request.method == "GET":
            if is_watch(request.query):
                query = {**request.query, "fieldSelector": f"metadata.name={target.name}"}
                return self._watch(query, target, kind)
            return Answer(200, _shown(kind, self.resources.get(*place)))
        if request.method == "PUT":
            return Answer(200, _shown(kind, self.resources.replace(*place, _body(request), writing)))
        if request.method == "DELETE" and not target.subresource:
            _check_deletion(request, headers)
            item, gone = self.resources.delete(*place, _deletion(request))
            return Answer(200, _deleted(kind, item) if gone and kind != PODS else _shown(kind, item))
        if request.method != "PATCH":
            raise _not_allowed()
        if _media_type(headers) == APPLY:
            item, made = self.resources.apply(*place, _body(request), writing)
            return Answer(201 if made else 200, _shown(kind, item))
        patch = _patch(kind, headers)
        return Answer(200, _shown(kind, self.resources.change(*place, lambda item: patch(item, request.body), writing)))

    def _collection(self, request: Request, target: Target, kind: Kind, writing: Writing) -> Answer | Pending:
        if request.method == "POST" and (target.namespace or not kind.namespaced):
            item = self.resources.create(kind, target.namespace, _typed(kind, request), writing)
            return Answer(201, _shown(kind, item))
        if request.method == "GET" and is_watch(request.query):
            return self._watch(request.query, target, kind)
        if request.method not in {"GET", "DELETE"}:
            raise _not_allowed()
        fits = _filter(kind, request.query)
        items = [each for each in self.store.each(kind, target.namespace) if fits(each)]
        if request.method == "DELETE":
            for each in items:
                metadata = each["metadata"]
                self.resources.delete(kind, metadata.get("namespace", ""), metadata["name"], _deletion(request))
        items, metadata = self._pages.cut(items, self.store.version, request.query, self.store.compacted)
        if not kind.custom:
            items = [{key: each[key] for key in each if key not in {"apiVersion", "kind"}} for each in items]
        listed = {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": metadata}
        return Answer(200, {**listed, "items": items})

    def _watch(self, query: Mapping[str, str], target: Target, kind: Kind) -> Answer | Pending:
        watch = Watch(self.store, kind, target.namespace if kind.namespaced else "", _filter(kind, query))
        seconds = float(query.get("timeoutSeconds") or LONGEST)
        bookmarks = query.get("allowWatchBookmarks", "").lower() in {"1", "true"}
        return watch.answer(query.get("resourceVersion", ""), seconds, bookmarks=bookmarks)

    def _defined(self, change: Change) -> None:
        if change.kind == DEFINITIONS:
            if change.type != "DELETED":
                self.kinds.define(change.item)
            if change.type == "ADDED":
                name = change.item["metadata"]["name"]
                self.store.clock.later(0.0, lambda: definitions.establish(self.resources, name))
            elif change.type == "DELETED":
                definitions.remove_all(self.store, self.kinds, change.item)
                self.kinds.forget(change.item)


def _told(answer: Json | str | None) -> Answer:
    if answer is None:
        return Answer(404, "404 page not found\n", _TEXT)
    return Answer(200, answer, _TEXT if isinstance(answer, str) else {})


_TEXT = {"Content-Type": "text/plain; charset=utf-8"}


def _not_allowed() -> Refused:
    return Refused(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def _body(request: Request) -> Json:
    if not isinstance(request.body, dict):
        raise bad_request("the object provided is unrecognized (must be of type object)")
    return request.body


def _typed(kind: Kind, request: Request) -> Json:
    """The object that is sent; one of a custom kind has to name its kind."""
    found = _body(request)
    if kind.custom and "kind" not in found:
        said = f"the object provided is unrecognized (must be of type {kind.kind}): Object 'Kind' is missing"
        raise bad_request(said)
    return found


def _writing(request: Request, target: Target, headers: Mapping[str, str]) -> Writing:
    query = request.query
    applies = _media_type(headers) == APPLY and request.method == "PATCH"
    agent = "" if applies else (headers.get("user-agent", "").partition("/")[0] or "unknown")
    return Writing(
        manager=query.get("fieldManager") or agent,
        dry_run=query.get("dryRun") == "All",
        strict=query.get("fieldValidation") or "Warn",
        subresource=target.subresource,
        force=query.get("force", "").lower() in {"1", "true"},
    )


def _media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip()


def _patch(kind: Kind, headers: Mapping[str, str]) -> Callable[[Any, Any], Any]:
    known = [each for each in _PATCHES if not (kind.custom and each == STRATEGIC)]
    media_type = _media_type(headers)
    if media_type not in known:
        message = _unknown_format([*known, APPLY])
        raise Refused(415, "UnsupportedMediaType", message if kind.custom else "415: Unsupported Media Type")
    return _PATCHES[media_type]


def _check_deletion(request: Request, headers: Mapping[str, str]) -> None:
    media_type = _media_type(headers)
    if request.body and media_type and media_type not in _BODIES:
        raise Refused(415, "UnsupportedMediaType", _unknown_format(_BODIES))


def _unknown_format(known: Iterable[str]) -> str:
    return f"the body of the request was in an unknown format - accepted media types include: {', '.join(known)}"


def _filter(kind: Kind, query: Mapping[str, str]) -> Callable[[Json], bool]:
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    # A selector that cannot be read is refused also where there is nothing to compare.
    labels_match(labels, {})
    fields_match(fields, kind, {})
    return lambda item: labels_match(labels, item["metadata"].get("labels", {})) and fields_match(fields, kind, item)


def _deletion(request: Request) -> Json:
    options: Json = dict(request.body) if isinstance(request.body, dict) else {}
    query = request.query
    if "gracePeriodSeconds" in query:
        options["gracePeriodSeconds"] = int(query["gracePeriodSeconds"])
    if "propagationPolicy" in query:
        options["propagationPolicy"] = query["propagationPolicy"]
    if query.get("dryRun"):
        options["dryRun"] = [query["dryRun"]]
    return options


def _shown(kind: Kind, item: Json) -> Json:
    return {"kind": kind.kind, "apiVersion": kind.api_version, **_without_type(item)}


def _without_type(item: Json) -> Json:
    return {key: value for key, value in item.items() if key not in {"kind", "apiVersion"}}


def _deleted(kind: Kind, item: Json) -> Json:
    details = {**details_of(kind, item["metadata"]["name"]), "uid": item["metadata"]["uid"]}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
