"""Reading the Secrets of configurations, and which Secrets the pods of a namespace use."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from ...common.reading import Json as Part
from ...common.reading import Unreadable, flag, listed, optional_text, part, text, text_map, within
from ...kubernetes.answers import reading_object
from ...kubernetes.client import Json, KubernetesClient
from ...kubernetes.paths import CORE, in_namespace
from ...kubernetes.pods import pod_path
from ...kubernetes.stateful_sets import path_of
from .state import POOL, UNUSED_SINCE, ConfigurationSecret


def secret_path(namespace: str, name: str = "") -> str:
    """The path of a Secret, or of all Secrets in the namespace."""
    return in_namespace(CORE, namespace, "secrets", name)


def read_secret(client: KubernetesClient, namespace: str, name: str) -> ConfigurationSecret | None:
    """One Secret, whoever made it; None if there is none."""
    item = client.get(secret_path(namespace, name))
    return configuration_secret(item) if item is not None else None


def list_secrets(client: KubernetesClient, namespace: str) -> tuple[ConfigurationSecret, ...]:
    """The Secrets of the namespace that have the label of configurations, by name."""
    found = map(configuration_secret, client.list(secret_path(namespace), label_selector=POOL))
    return tuple(sorted(found, key=lambda each: each.name))


def configuration_secret(item: Json) -> ConfigurationSecret:
    """The observation of an API object."""
    with reading_object("Secret", item):
        metadata = part(item, "metadata")
        return ConfigurationSecret(
            namespace=text(metadata, "namespace"),
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            resource_version=text(metadata, "resourceVersion"),
            pool=text_map(metadata, "labels").get(POOL, ""),
            immutable=flag(item, "immutable", default=False),
            unused_since=text_map(metadata, "annotations").get(UNUSED_SINCE, ""),
            data=within(item, "data", lambda data: {key: _content(data, key) for key in data}, {}),
        )


def _content(data: Part, key: str) -> bytes:
    encoded = data.get(key)
    try:
        return base64.b64decode(encoded or "", validate=True)
    except (TypeError, ValueError, binascii.Error):
        # The value is not shown: it may be a secret all the same.
        raise Unreadable("is no base64", key) from None


def used_secrets(client: KubernetesClient, namespace: str) -> frozenset[str]:
    """The names of all Secrets that a pod uses, or that a StatefulSet would give to its next pod.

    The sets are asked for after the pods: for a pod that is made in between, its set is found.

    StatefulSets count, since a set may be scaled to nothing.
    """
    found: set[str] = set()
    for item in client.list(pod_path(namespace)):
        with reading_object("Pod", item):
            found.update(within(item, "spec", lambda spec: frozenset(secrets_in(spec)), {}))
    for item in client.list(path_of(namespace)):
        with reading_object("StatefulSet", item):
            found.update(within(item, "spec.template.spec", lambda spec: frozenset(secrets_in(spec)), {}))
    return frozenset(found)


def secrets_in(spec: Part) -> Iterator[str]:
    """The names of the Secrets that the spec of a pod mounts or reads variables from."""
    for names in listed(spec, "volumes", _of_volume, ()):
        yield from names
    for kind in ("initContainers", "containers"):
        for names in listed(spec, kind, _of_container, ()):
            yield from names


def _of_volume(volume: Part) -> tuple[str, ...]:
    own = within(volume, "secret", lambda found: optional_text(found, "secretName"), {})
    projected = within(volume, "projected", lambda found: listed(found, "sources", _of_source, ()), {})
    return tuple(filter(None, (own, *projected)))


def _of_source(source: Part) -> str | None:
    return within(source, "secret", lambda found: optional_text(found, "name"), {})


def _of_container(container: Part) -> tuple[str, ...]:
    whole = listed(container, "envFrom", lambda each: within(each, "secretRef", _name, {}), ())
    single = listed(container, "env", lambda each: within(each, "valueFrom.secretKeyRef", _name, {}), ())
    return tuple(filter(None, (*whole, *single)))


def _name(of: Part) -> str | None:
    return optional_text(of, "name")
