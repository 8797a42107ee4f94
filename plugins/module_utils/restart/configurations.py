"""The configurations that the members of a batch are to run with: chosen, noted, written, and seen mounted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial

from ..common.errors import Refusal
from ..common.task import Task, passed_or_raise
from ..common.timestamps import utc_now
from ..common.verdict import Reason, Verdict, combine
from ..kubernetes.client import KubernetesClient
from ..kubernetes.state import Pod, StatefulSet
from ..opensearch.judge.set_pools import server_container, server_in
from ..opensearch.size_plan import names_with, replicas_in
from ..pools.resizing import resize
from .act.configuration import Place, add_missing, collect, complete, judge_adding, remove_unwanted, write
from .act.labels import label_pod
from .act.marks import Marks
from .given import configuration_in
from .judge.configuration import checksum, judge_secret
from .judge.labels import judge_labels
from .judge.phases import Marked, is_to_restart, marked
from .judge.pod_spec import Mounted, how_mounted, judge_mounted
from .judge.wanted import (
    Runs,
    WantedConfiguration,
    chosen,
    is_due,
    is_edited,
    judge_edited,
    judge_running,
    judge_wanted,
    note_of,
    wanted_in,
)
from .observe.pod_spec import mounts_of
from .observe.secrets import read_secret
from .observe.state import ConfigurationSecret
from .process_control import ProcessControl


class Configurations:
    """The configurations of one task. A pool for which none is given is left out."""

    def __init__(self, task: Task, client: KubernetesClient, marks: Marks) -> None:
        self._task, self._client, self._marks = task, client, marks
        self._given = configuration_in(task.params)
        self.wanted = wanted_in(self._given)
        self._seen: dict[str, str] = {}
        """The checksum that was seen mounted in each pod. A mount never goes back."""
        self._edited: dict[str, Verdict] = {}
        """The members that were started on the content of someone else, since they were stopped already."""

    def check(self, pools: Iterable[StatefulSet], container: str, *, in_place: bool) -> None:
        """Refuse what cannot be read, or cannot come to a server that stays in its pod if it restarts `in_place`.

        Raises:
            Refusal: all that is wrong, at once.
        """
        found = [pool for pool in pools if pool.name in self.wanted]
        members = names_with(found, self._given)
        given = [each for each in self._given if each["pool"] in members]
        mounts = [judge_mounted(pool.name, self._mounted(pool, container), in_place) for pool in found]
        labels = [judge_labels(pool.name, pool.selector, self.wanted[pool.name].labels) for pool in found]
        passed_or_raise(judge_wanted(given, members), *mounts, *labels)

    def secret(self, pool: str) -> ConfigurationSecret | None:
        """The Secret of a pool as it is now."""
        return read_secret(self._client, self._task.params["namespace"], self.wanted[pool].secret)

    def add_missing(self, pools: Iterable[StatefulSet]) -> None:
        """Give each member without a key its wanted content, before a pod needs it."""
        for place, contents in self._added(pools):
            add_missing(self._task, self._client, place, contents)

    def judge_adding(self, pools: Iterable[StatefulSet]) -> Verdict:
        """Whether `add_missing` can write what it is to write."""
        return combine(judge_adding(self._client, place, contents) for place, contents in self._added(pools))

    def _added(self, pools: Iterable[StatefulSet]) -> Iterator[tuple[Place, Mapping[str, bytes]]]:
        for pool, names in names_with(pools, self._given).items():
            contents = self.wanted[pool].contents(names, None) if pool in self.wanted else {}
            if contents:
                yield self._place(pool), contents

    def enlarge(self, pools: Iterable[StatefulSet]) -> None:
        """Give the pools that are to have more members their size, once each new member has its content."""
        for pool, wanted in replicas_in(self._given).items():
            if pool in {each.name for each in pools}:
                resize(self._task, self._client, self._task.params["namespace"], pool, partial(_at_least, wanted))

    def judge_there(self, pools: Iterable[StatefulSet], names: Collection[str], marks: Mapping[str, Marked]) -> Verdict:
        """Whether these members have a content to restart on, each a wanted one or that of its key, which no one else
        has changed since the run started."""
        verdicts = []
        for pool in pools:
            own = [name for name in names if name in pool.member_names()] if pool.name in self.wanted else []
            if not own:
                continue
            wanted, secret = self.wanted[pool.name], self.secret(pool.name)
            contents = wanted.contents(own, secret)
            if bare := set(own) - contents.keys():
                verdicts.append(judge_secret(wanted.secret, secret, sorted(bare)))
            present = secret.contents if secret else {}
            verdicts += [
                judge_edited(marks[name], wanted.secret, present[name], contents[name], runs=True)
                for name in own
                if is_edited(marks[name], present.get(name), contents.get(name))
            ]
        return combine(verdicts)

    def found(self, pool: str) -> dict[str, str]:
        """The checksum of each key as it is now, for the notes that are made when a run starts."""
        secret = self.secret(pool) if pool in self.wanted else None
        return {name: checksum(content) for name, content in secret.contents.items()} if secret else {}

    def found_in(self, pools: Iterable[StatefulSet]) -> dict[str, str]:
        """The same for several pools, waiting until the API server answers."""
        of_pools = [self._task.ask(partial(self.found, pool.name)) for pool in pools]
        return {name: each for of_pool in of_pools for name, each in of_pool.items()}

    def judge_begun(self) -> Verdict:
        """Whether a member was started on the content of someone else, since it was stopped already."""
        return combine(self._edited.values())

    def running(self, pools: Iterable[StatefulSet], pods: Iterable[Pod], way: ProcessControl, key: str) -> Verdict:
        """A remark on members that do not run the content of their file, as far as the agent or their marks show it."""
        found: list[Runs] = []
        there = {pod.name: pod for pod in pods}
        for pool in pools:
            files = self.found(pool.name)
            for pod in (there[name] for name in pool.member_names() if name in there):
                mark = marked(pod.name, pod.uid, pod.annotations, key=key)
                process = way.look(pod) if way.keeps_stopped and mark.phase is None else None
                if process is not None and process.running:
                    found.append(Runs(pod.name, process.checksum, files.get(pod.name, process.mounted)))
                elif mark.phase is None:
                    found.append(Runs(pod.name, mark.configured, files.get(pod.name, "")))
        return judge_running(found)

    def due(self, pool: StatefulSet, marks: Mapping[str, Marked]) -> frozenset[str]:
        """The members of a pool that are to be restarted for a content that is wanted."""
        if pool.name not in self.wanted:
            return frozenset()
        secret = self.secret(pool.name)
        present = secret.contents if secret else {}
        contents = self.wanted[pool.name].contents(marks, secret)
        return frozenset(n for n, mark in marks.items() if is_due(mark, present.get(n), contents.get(n)))

    def bring(self, pool: str, mark: Marked, pod: Pod, *, runs: bool) -> str:
        """Write the content that the restart of a member brings, unless it is there. The result is its checksum.

        Raises:
            Refusal: there is none, which someone may still fix, or it cannot be written, or someone else has
                written another one.
        """
        if pool not in self.wanted:
            return ""
        secret = self.secret(pool)
        present = secret.contents.get(pod.name) if secret else None
        wanted = self.wanted[pool].contents([pod.name], secret).get(pod.name)
        content = chosen(mark, present, wanted, runs=runs)
        if present is not None and wanted is not None and is_edited(mark, present, wanted):
            edited = judge_edited(mark, self.wanted[pool].secret, present, wanted, runs=runs)
            if runs:
                raise Refusal(*edited.reasons)
            # A stopped process starts on what is there, which the end of the run names.
            self._edited[pod.name], content = edited, present
        if content is None:
            raise Refusal(*judge_secret(self.wanted[pool].secret, secret, [pod.name]).reasons)
        note = note_of(mark, present, content)
        if note != mark.chosen:
            self._marks.choose(pod, note)
        if content != present:
            write(self._task, self._client, self._place(pool), {pod.name: content})
        return checksum(content)

    def label(self, pool: StatefulSet, pod: Pod) -> None:
        """Give a pod the labels that it is to have with its content, unless it has them.

        Raises:
            Refusal: the pod is another one by now, or the labels cannot be changed.
        """
        if pool.name in self.wanted and self.wanted[pool.name].labels:
            label_pod(self._task, self._client, pool, pod.name, pod.uid, self.wanted[pool.name].labels)

    def is_mounted(self, pod: Pod, expected: str) -> bool:
        """Whether the content was seen mounted in a pod by an earlier look."""
        return self._seen.get(pod.uid) == expected

    def saw(self, pod: Pod, mounted: str) -> None:
        """Remember the content that was seen mounted in a pod."""
        self._seen[pod.uid] = mounted

    def file(self, pool: StatefulSet, pod: Pod, container: str) -> str:
        """The path of the file with the configuration of a member, in its container; empty if none is given."""
        if pool.name not in self.wanted:
            return ""
        return f"{self._mounted(pool, container).directory}/{pod.name}"

    def complete(self, pools: Iterable[StatefulSet], pods: Collection[Pod]) -> None:
        """Forget what the members had before the run, and remove the keys of members that are gone.

        A pool with a member that is still to restart keeps the former: a run that was narrowed to others ends before.
        """
        there = {pod.name for pod in pods}
        left = {pod.name for pod in pods if is_to_restart(pod.annotations, self._marks.key)}
        for pool in pools:
            if pool.name in self.wanted:
                place, members = self._place(pool.name), pool.member_names()
                if left.isdisjoint(members):
                    complete(self._task, self._client, place, members)
                remove_unwanted(self._task, self._client, place, members, there)

    def collect(self) -> tuple[Reason, ...]:
        """Delete Secrets with configurations that no pod has used for long; a remark says if that is not allowed."""
        if not self.wanted:
            return ()
        return collect(self._task, self._client, self._task.params["namespace"], utc_now())[1]

    def _place(self, pool: str) -> Place:
        return Place(self._task.params["namespace"], self.wanted[pool].secret, pool)

    def _mounted(self, pool: StatefulSet, container: str) -> Mounted:
        return mounted_in(pool, container, self.wanted[pool.name])


def _at_least(wanted: int, pool: StatefulSet) -> int:
    return max(wanted, pool.replicas)


def mounted_in(pool: StatefulSet, container: str, wanted: WantedConfiguration) -> Mounted:
    """How the wanted configuration comes to the servers of a pool. Without a container name, the server's is used."""
    server, name = server_in(pool.images), server_container(pool, container)
    file = wanted.path or f"/usr/share/{server}/config/{server}.yml"
    return how_mounted(mounts_of(pool.template, name, pool.claims), file, wanted.secret, pool.member_names())
