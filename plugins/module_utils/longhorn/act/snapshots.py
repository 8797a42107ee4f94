"""Removing the snapshots that runs have made."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...common.errors import Refusal, Unreachable
from ...common.task import Task
from ...common.verdict import Reason
from ...kubernetes.client import KubernetesClient
from ..judge.snapshots import snapshots_stay
from ..observe.kinds import SNAPSHOTS, label_of, path_of
from ..observe.look import image_of, look
from ..observe.state import Longhorn, VolumeSnapshot


@dataclass
class Cleaning:
    """The removal of the snapshots that runs have made for the present image."""

    task: Task
    client: KubernetesClient
    namespace: str
    _target: str = ""
    _stay: dict[str, VolumeSnapshot] = field(default_factory=dict)

    def clean(self) -> Longhorn:
        """Remove them, each even if another fails, until the time for answers is over.

        Raises:
            Refusal: some stay; it names them after the causes.
        """
        try:
            return self.task.ask(self._again)
        except Refusal as error:
            stay = self._stay.values()
            named = (snapshots_stay(self.namespace, self._target, stay),) if stay else ()
            raise Refusal(*error.verdict.reasons, *named) from error

    def _again(self) -> Longhorn:
        seen = look(self.client, self.namespace)
        self._target = label_of(image_of(seen))
        self._stay = {each.name: each for each in seen.snapshots if each.target == self._target}
        causes: list[Reason] = []
        for each in tuple(self._stay.values()):
            if not self.task.check_mode:
                self.task.still_wanted()
            try:
                self._remove(each)
            except Unreachable:
                raise
            except Refusal as error:
                causes += error.verdict.reasons
            else:
                del self._stay[each.name]
        if causes:
            raise Refusal(*dict.fromkeys(causes))
        return seen

    def _remove(self, each: VolumeSnapshot) -> None:
        with self.task.journal.doing(("delete_snapshot", each.name, {"volume": each.volume})):
            path = path_of(self.namespace, SNAPSHOTS, each.name)
            self.client.delete(path, each.uid, dry_run=self.task.check_mode)
