"""A Longhorn on which a story is played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.runs.observer.longhorn.observer import LonghornObserver
from tests.runs.observer.longhorn.rules import Consents
from tests.runs.random_runs.longhorn.database import Database
from tests.runs.random_runs.longhorn.events import HappeningToLonghorn
from tests.runs.random_runs.longhorn.story import LonghornStory
from tests.runs.random_runs.person import Person
from tests.runs.random_runs.playing import ByPlaybook
from tests.runs.random_runs.story import Event
from tests.runs.world import World
from tests.sandbox.longhorn.description import NEW_IMAGE, QUICK
from tests.sandbox.longhorn.kinds import CRON_JOBS, NAMESPACE, NODES, SETTINGS, SNAPSHOTS, VOLUMES
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.sandbox.longhorn.runs import shipped_rights
from tests.scenarios.cluster import USER
from tests.scenarios.longhorn import PLAYBOOK, SYSTEM
from tests.scenarios.playbook import Played


class LonghornStage(ByPlaybook):
    """See `tests.runs.random_runs.playing.Stage`."""

    playbook = PLAYBOOK
    target = NEW_IMAGE.rpartition(":")[2]

    def __init__(self, here: World, story: LonghornStory) -> None:
        self.world, self._story = here, story
        self.longhorn = Longhorn(story.described(), here.sandbox.kubernetes, QUICK)
        here.sandbox.apply(shipped_rights(USER))
        kept = story.options.get("upgrade_snapshots") == "kept"
        consents = Consents.of(story.options)
        self.observer = LonghornObserver(here.sandbox, self.longhorn, story.left, consents, kept=kept)
        self._database = Database(here, story) if story.workload else None
        if self._database is not None:
            self.observer.ask_before(self._database.workload)
        self._person = Person({**self._own(), **SYSTEM}, self.observer.left_over)
        self._person.watched_by(self.observer)
        self._happening = HappeningToLonghorn(here, self.longhorn, story, self.observer, self._person, self._database)

    def variables(self) -> dict[str, Any]:
        """See `Stage`."""
        gate = {"upgrade_workload_gate": str(self._database.gate)} if self._database is not None else {}
        return {
            **gate,
            "target_version": self.target,
            **self._own(),
            **self._story.options,
        }

    def _own(self) -> dict[str, Any]:
        kubernetes = {"kubeconfig": str(self.world.sandbox.kubeconfig(USER))}
        return {"upgrade_namespace": NAMESPACE, "upgrade_kubernetes": kubernetes}

    def of_plan(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """See `ByPlaybook`."""
        return {**given, **SYSTEM}

    def fingerprint(self) -> Any:
        """See `Stage`."""
        found = [
            (
                kind.plural,
                each["metadata"]["name"],
                each.get("spec"),
                each.get("value"),
                each["metadata"].get("annotations"),
            )
            for kind in (NODES, VOLUMES, SETTINGS, CRON_JOBS)
            for each in self.longhorn.objects.all(kind)
        ]
        return found, len([*self.longhorn.objects.all(SNAPSHOTS)])

    def happen(self, event: Event) -> None:
        """See `Stage`."""
        self._happening.happen(event)

    def mend(self) -> None:
        """See `Stage`."""
        self._happening.mend()

    def read(self, ended: Played) -> bool:
        """See `Stage`: the evidence of an interruption is removed, as the refusal says, and the next run continues."""
        if '"interrupted_before"' in ended.output:
            self._happening.remove_evidence()
        found = [f'"{each}"' in ended.output for each in ("interrupted_before", "volume_interrupted")]
        return self._person.read(ended) or any(found)

    def mended(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """See `Stage`."""
        return {**given}

    def is_done(self) -> bool:
        """See `Stage`."""
        return {self._image_of(each) for each in self._story.left} <= {NEW_IMAGE}

    def _image_of(self, node: str) -> str:
        return str(self.longhorn.manager(node)["spec"]["image"])

    def is_upgraded(self) -> None:
        """See `Stage`."""
        assert self.is_done(), {each: self._image_of(each) for each in self._story.left}
        ill = {
            each["metadata"]["name"]: each["status"].get("robustness")
            for each in self.longhorn.objects.all(VOLUMES)
            if each["status"].get("state") == "attached" and each["status"].get("robustness") != "healthy"
        }
        assert not ill, ill
        assert not (said := [*self._person.judged()]), said
