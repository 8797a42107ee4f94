"""A change of the scheme in the plan of a restart: the probes of the pods, and the certificates that they mount."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from ..common.errors import Denied
from ..common.task import Task
from ..common.timestamps import utc_now
from ..common.verdict import Verdict, combine
from ..kubernetes import client as kubernetes
from ..kubernetes.client import KubernetesClient
from ..kubernetes.state import StatefulSet
from ..opensearch.judge.set_pools import server_container, server_in
from ..opensearch.observe.addresses import after_of
from .judge.configuration_file import settings_in
from .judge.http_certificates import FileContents, ServerFile, files_of, judge_files, judge_given, judge_probes_ask
from .judge.settings_table import SettingChanges
from .observe.pod_spec import mounts_of, schemes_of_probes
from .observe.secrets import read_secret

HTTPS = "https"


def plan_scheme(
    task: Task, pools: Mapping[str, tuple[StatefulSet, Mapping[str, bytes], Mapping[str, SettingChanges]]]
) -> Verdict:
    """Whether the pods can be Ready with the new scheme, and have what TLS needs; nothing is read if none changes.

    `pools` has for each pool its set, the wanted content and the changes of each member.

    Raises:
        Refusal: the API gives no answer.
    """
    after = after_of(task.params["opensearch"])
    files: dict[ServerFile, None] = {}
    verdicts = []
    for one, contents, changes in pools.values():
        container = server_container(one, task.params["container"])
        for scheme, settings in _changing(contents, changes):
            probes = schemes_of_probes(one.template, container)
            verdicts.append(judge_probes_ask(one.name, scheme, settings, probes))
            if scheme == HTTPS:
                verdicts.append(judge_given(one.name, settings))
                files.update(dict.fromkeys(_files(one, container, settings)))
    if not files or after is None:
        return combine(verdicts)
    client = kubernetes.connect(task.params["kubernetes"])
    secrets = sorted({each.secret for each in files} - {""})
    seen = _read(task, client, secrets)
    checks = bool(after.get("validate_certs", True))
    return combine((*verdicts, judge_files([*files], seen, after["hosts"], utc_now(), checks_names=checks)))


def _changing(
    contents: Mapping[str, bytes], changes: Mapping[str, SettingChanges]
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The new scheme and the wanted settings of members that change their scheme; equal ones once."""
    found = {(one.scheme, contents[name]) for name, each in changes.items() for one in each.changes if one.scheme}
    for scheme, content in sorted(found):
        yield scheme, settings_in(content.decode("utf-8", "surrogateescape"), "the new configuration")


def _files(one: StatefulSet, container: str, settings: Mapping[str, str]) -> Iterable[ServerFile]:
    folder = f"/usr/share/{server_in(one.images)}/config"
    return files_of(one.name, settings, mounts_of(one.template, container, one.claims), folder)


def _read(task: Task, client: KubernetesClient, names: Iterable[str]) -> FileContents:
    found: dict[str, Any] = {}
    denied = set()
    for name in names:
        try:
            secret = task.ask(partial(read_secret, client, task.params["namespace"], name))
        except Denied:
            denied.add(name)
        else:
            found[name] = None if secret is None else secret.data
    return FileContents(found, frozenset(denied))
