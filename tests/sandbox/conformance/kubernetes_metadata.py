"""Cases: the metadata that an object may have, whatever its kind, and how large it may be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.sandbox.conformance.kubernetes_asking import Asking, Json, outcome
from tests.sandbox.conformance.kubernetes_objects import config_map, namespace_of, stateful_set
from tests.sandbox.kubernetes.api import MERGE
from tests.sandbox.web import Answer

OWNER: Json = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1"}


def _said(answer: Answer) -> list[Any]:
    """The code and the sentence. The real server repeats its causes if it validates an object more than once."""
    found = outcome(answer)
    return found if isinstance(found, list) else [found["code"], found["message"]]


def labels(ask: Asking) -> Iterator[Any]:
    """Labels and annotations, in an object and in the template of its pods."""
    here = namespace_of(ask, "conformance-labels")
    maps = f"{here}/configmaps"
    for key, value in (
        ("a", ""),
        ("a", 63 * "b"),
        ("example.com/a_B.c", "b_B.c"),
        ("a", 64 * "b"),
        ("a", "no label"),
        ("a", "v1.33.4+k3s1"),
        ("a", "-b"),
        ("-a", "b"),
        (64 * "a", "b"),
        ("Example.com/a", "b"),
        ("example.com/", "b"),
        ("/a", "b"),
        ("a/b/c", "b"),
        ("", "b"),
        ("no key", "no label"),
    ):
        yield _said(ask("POST", maps, config_map(labels={key: value}), dryRun="All"))
    for key, value in (
        ("a", "any text, of any length " + 100 * "b"),
        ("Example.com/a", "b"),
        ("no key", "b"),
        ("a", 262_143 * "b"),
        ("a", 262_144 * "b"),
    ):
        yield _said(ask("POST", maps, config_map(annotations={key: value}), dryRun="All"))
    yield _said(ask("POST", maps, config_map()))
    for change in ({"labels": {"a": "no label"}}, {"annotations": {"no key": "b"}}):
        yield _said(ask("PATCH", f"{maps}/one", {"metadata": change}, media_type=MERGE))
    of_sets = "/apis/apps/v1/namespaces/conformance-labels/statefulsets"
    for more in ({"labels": {"app": "data", "b": "no label"}}, {"labels": {"app": "data"}, "annotations": {"b c": ""}}):
        whole = stateful_set()
        whole["spec"]["template"]["metadata"] = more
        yield _said(ask("POST", of_sets, whole))


def owners(ask: Asking) -> Iterator[Any]:
    """Owners and finalizers."""
    maps = namespace_of(ask, "conformance-owners") + "/configmaps"
    for references in (
        [{name: value for name, value in OWNER.items() if name != missing}] for missing in ("uid", "name", "kind")
    ):
        yield _said(ask("POST", maps, config_map(ownerReferences=references), dryRun="All"))
    two = [{**OWNER, "controller": True}, {**OWNER, "name": "b", "uid": "2", "controller": True}]
    yield _said(ask("POST", maps, config_map(ownerReferences=two), dryRun="All"))
    yield _said(ask("POST", maps, config_map(ownerReferences=[{**OWNER, "apiVersion": ""}]), dryRun="All"))
    for finalizer in ("example.com/a", "no finalizer"):
        yield _said(ask("POST", maps, config_map(finalizers=[finalizer]), dryRun="All"))


def sizes(ask: Asking) -> Iterator[Any]:
    """Names and contents that are too long."""
    here = namespace_of(ask, "conformance-sizes")
    maps = f"{here}/configmaps"
    for length in (253, 254):
        yield _said(ask("POST", maps, config_map(length * "a"), dryRun="All"))
    for length in (1_048_576, 1_048_577):
        yield _said(ask("POST", maps, {**config_map(), "data": {"key": length * "a"}}, dryRun="All"))
    yield _said(ask("POST", maps, {**config_map(), "data": {"no key": ""}}, dryRun="All"))
    service = {"metadata": {"name": 64 * "a"}, "spec": {"ports": [{"port": 1}]}}
    yield [ask("POST", f"{here}/services", service, dryRun="All").status]
