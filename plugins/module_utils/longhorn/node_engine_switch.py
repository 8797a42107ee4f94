"""The work of the module `node_engine_switch`: the v2 data engine of Longhorn nodes, one node after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..common.arguments import CONNECTIONS, WAIT
from ..common.errors import refusal
from ..common.task import Contract, Outcome, Task
from ..common.verdict import Reason, State, Verdict, combine
from ..common.waiting import Patience, Remaining
from ..kubernetes.client import KubernetesClient, connect
from ..run.lock.lease import lease_at
from ..run.lock.lock_watch import Writers
from .act.changes import At, judge_runs
from .act.putting_back import Return
from .act.snapshots import Cleaning
from .judge.interruptions import before, interrupted, without_earlier_moves
from .judge.preflight import UNKNOWN_VERSIONS, UNLISTED_IMAGES
from .judge.reasons import REPLACEMENT, WITHOUT_SNAPSHOT, image_changed, node_emptied
from .judge.recurring_jobs import QUIET, SETTLES
from .judge.snapshots import left_behind
from .judge.stages import BEGINNINGS, EARLY, SwitchStage, SwitchStep, WantedSwitch, come_home
from .judge.upgrades import unfinished
from .judge.volumes import left_to_rebuild, moved_from, touched
from .observe.kinds import NAMESPACE
from .observe.look import image_of
from .observe.state import Attached, Longhorn
from .switch_method import OUTSIDE, SwitchMethod, offered_method

UNVERIFIED = (REPLACEMENT, UNKNOWN_VERSIONS, UNLISTED_IMAGES, WITHOUT_SNAPSHOT)
"""The steps that are not verified, by the names under which a user accepts them."""
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        "namespace": {"type": "str", "default": NAMESPACE},
        "state": {
            "type": "str",
            "default": "switched",
            "choices": ["switched", "evacuated", "restored", "cleaned"],
        },
        "nodes": {"type": "list", "elements": "str", "default": []},
        "in_one_object": {"type": "list", "elements": "str", "default": []},
        "image": {"type": "str", "default": ""},
        "data_engine": {"type": "str", "default": "v2", "choices": ["v1", "v2"]},
        "accept_unverified": {"type": "list", "elements": "str", "default": [], "choices": list(UNVERIFIED)},
        "extra_replicas": {"type": "bool", "default": False},
        "keep": {"type": "list", "elements": "str", "default": []},
        "take_over": {"type": "str", "default": ""},
        "wait_limit": {"type": "int"},
    },
    required_if=[("state", "switched", ("nodes",)), ("state", "evacuated", ("nodes",))],
)


def run(task: Task) -> Outcome:
    """Bring the nodes into the state, one after the other."""
    params = task.params
    if params["data_engine"] != "v2":
        raise refusal(
            "engine_v1",
            "The v1 data engine is not upgraded node by node.",
            "Upgrade v1 volumes by their engine image, each by itself, as Longhorn's own documentation says.",
        )
    if task.check_mode:
        # Nothing is done that could be waited for.
        task = replace(task, params={**params, "wait": False})
    client = connect(params["kubernetes"])
    if params["state"] == "restored":
        return restore(task, client, params["keep"])
    if params["state"] == "cleaned":
        return _clean(task, client)
    return _switch_all(task, client)


def writers_of(task: Task, client: KubernetesClient) -> Writers:
    """The check whether the runs that wrote undos are still alive."""
    return Writers(task, partial(lease_at, client), "node_engine_switch")


def restore(task: Task, client: KubernetesClient, keep: list[str]) -> Outcome:
    """Put back everything that runs have changed, except for the nodes in `keep`, whose switch goes on."""
    way, namespace = offered_method(client), task.params["namespace"]
    back = Return(task, client, namespace, writers_of(task, client), way.look, way.take_back, frozenset(keep))
    (seen, _verdict), verdict = task.wait(back.again, lambda found: found[1])
    if verdict.state is State.REFUSED:
        verdict = combine((verdict, back.once_out_of_time(seen)))
    left = Verdict(tuple(left_behind(seen)))
    return Outcome(verdict, back.changed, _shown(seen), next="nothing", more={"left": left.as_result()})


def _clean(task: Task, client: KubernetesClient) -> Outcome:
    seen = Cleaning(task, client, task.params["namespace"]).clean()
    return Outcome(Verdict(), bool(task.journal.as_result()), _shown(seen))


@dataclass
class _Switch:
    """The switch of one node, look by look."""

    task: Task
    client: KubernetesClient
    way: SwitchMethod
    writers: Writers
    node: str
    image: str
    """The image that was agreed to; empty until the first look, whose image counts then."""
    stage: SwitchStage | None = None
    acted: bool = False
    moved_on: bool = False
    followed: set[str] = field(default_factory=set)
    """The upgrades by Longhorn itself that were seen under way."""
    prepared: bool = False
    """Whether a look has shown the instance manager of the image."""
    held: dict[str, float] = field(default_factory=dict)
    """The recurring jobs that the last look has shown held off, each with the time since which every look has."""
    moved: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """The volumes whose engines were seen away, as they were last seen there."""
    earlier: dict[str, Attached] = field(default_factory=dict)
    """See `before`: what was seen first of each volume counts."""
    harmed: dict[str, Reason] = field(default_factory=dict)
    """The volumes that were interrupted."""

    def again(self) -> tuple[Longhorn, SwitchStep, Verdict]:
        """Look, judge, and make the acts that are due. A new state of the node ends the wait for the old one."""
        looked = self.task.clock.now()
        seen = self.way.look(self.client, self.task.params["namespace"])
        image = self._image(seen)
        accepted = frozenset(self.task.params["accept_unverified"])
        extra, several = self.task.params["extra_replicas"], tuple(self.task.params["in_one_object"])
        followed, quiet = frozenset(self.followed), self._quiet(seen, looked)
        wanted = WantedSwitch(self.node, image, accepted, extra, self.task.run, followed, several, self.prepared, quiet)
        found = self.way.step(seen, wanted) if image == self.image else _ended(image_changed(self.image, image))
        if self._is_left_alone(seen):
            found = _ended(node_emptied(self.node))
        self.prepared |= any(each.image == image for each in seen.managers_of.get(self.node, ()))
        self.followed |= {each.name for each in seen.upgrades.active() if each.covers(self.node)}
        away = self.way.volumes(seen, self.node).items()
        self.moved |= {name: each for name, each in away if each["temporary"] not in {"", each["original"]}}
        if self._watch(seen) and (found.stage in EARLY or any(each.kind in BEGINNINGS for each in found.acts)):
            # Only what is needed to finish what was started is still started.
            found = replace(found, acts=(), verdict=Verdict(tuple(self.harmed.values())))
        if found.stage in EARLY:
            self.task.may_look(stoppable=True)
        if self.stage is None:
            judge_runs(self.client, seen, [self.node], self.writers)
        new = found.stage is not self.stage
        self.moved_on, self.stage = new and self.stage is not None, found.stage
        if new:
            self.task.progress(f"node {self.node}: {found.stage.value}")
        refusals = self.way.perform(At(self.task, self.client, seen, image, self.writers, looked), found.acts)
        self.acted |= bool(found.acts)
        return seen, found, combine((found.verdict, Verdict(tuple(refusals))))

    def _is_left_alone(self, seen: Longhorn) -> bool:
        """Whether the node was emptied outside of a run, so that no run changes it."""
        return bool(self.task.run) and self.task.params["state"] == "switched" and self.node in seen.emptied

    def _image(self, seen: Longhorn) -> str:
        """The image that Longhorn has as its default now; empty if engines are only moved away."""
        if self.task.params["state"] != "switched":
            return ""
        present = image_of(seen)
        self.image = self.image or present
        return present

    def _quiet(self, seen: Longhorn, looked: float) -> frozenset[str]:
        """The recurring jobs that were seen held off for `QUIET` seconds before this look, by the clock of this task.

        After a kill they are counted anew.
        """
        now = self.task.clock.now()
        self.held = {each.name: self.held.get(each.name, now) for each in seen.jobs if each.held}
        return frozenset(name for name, since in self.held.items() if looked - since >= QUIET)

    def _watch(self, seen: Longhorn) -> bool:
        """Note the volumes that were interrupted, and report each at once. The result says whether there are any."""
        earlier = {**before(seen, self.node), **self.earlier}
        self.earlier = {**without_earlier_moves(seen, self.node, self.image, earlier)}
        for name, reason in interrupted(seen, self.node, self.earlier):
            if name not in self.harmed:
                self.harmed[name] = reason
                self.task.progress(reason.message)
        return bool(self.harmed)

    def remaining(self, found: tuple[Longhorn, SwitchStep, Verdict]) -> Remaining:
        """The amount that is left to rebuild, and the nodes ahead of this one: less than ever restarts the time."""
        left = left_to_rebuild(found[0], touched(found[0], self.node))
        return {"volume_degraded": left, "replica_rebuilds": left, "upgrade_in_turn": unfinished(found[0], self.node)}

    def judge(self, found: tuple[Longhorn, SwitchStep, Verdict]) -> Verdict:
        """The verdict of a look; a new state ends the wait."""
        return Verdict() if self.moved_on and found[2].state is State.WAITING else found[2]

    def finish(self) -> tuple[Longhorn, Verdict]:
        """Wait through all states until the node is done or refused, and refuse it if it has interrupted a volume."""
        seen, verdict = self._finish()
        if verdict.state is State.WAITING:
            return seen, verdict
        return seen, Verdict(tuple(dict.fromkeys((*self.harmed.values(), *verdict.reasons))))

    def _finish(self) -> tuple[Longhorn, Verdict]:
        """Each state has the full time to wait."""
        while True:
            (seen, _found, said), verdict = self._wait()
            if verdict.state is State.REFUSED and self.task.params["state"] == "switched":
                return self._bring_home(seen, verdict)
            if said.state is not State.WAITING or verdict.state is State.REFUSED:
                return seen, verdict
            if not self.task.params["wait"]:
                return seen, said

    def _wait(self) -> tuple[tuple[Longhorn, SwitchStep, Verdict], Verdict]:
        """Wait in one state. A single pass waits only until recurring jobs were held off for long enough: the next
        one would count that time anew."""
        found, verdict = self.task.wait(self.again, self.judge, remaining=self.remaining)
        if self.task.params["wait"] or self.task.check_mode or not _settles(found[2]):
            return found, verdict
        patience = Patience(QUIET * 2, hands_back=True)
        return self.task.wait_apart(self.again, _judge_settling, patience)

    def _bring_home(self, seen: Longhorn, failed: Verdict) -> tuple[Longhorn, Verdict]:
        """After a failed step, bring home the engines that were moved away. Those that have to stay are named."""
        if self.task.check_mode or self._is_left_alone(seen) or not moved_from(seen, self.node):
            return seen, failed

        def again() -> tuple[Longhorn, Verdict]:
            there = self.way.look(self.client, self.task.params["namespace"])
            coming = come_home(there, self.node) or SwitchStep(SwitchStage.ERROR)
            turned_away = self.way.perform(At(self.task, self.client, there, "", self.writers), coming.acts)
            return there, combine((coming.verdict, Verdict(tuple(turned_away))))

        (seen, _said), verdict = self.task.wait(again, lambda found: found[1])
        return seen, combine((failed, verdict))


def _switch_all(task: Task, client: KubernetesClient) -> Outcome:
    way, writers, nodes, verdicts = offered_method(client), writers_of(task, client), [], []
    if task.params["state"] == "evacuated":
        # No kind of Longhorn moves engines away for maintenance.
        way = OUTSIDE
    before: Mapping[str, Any] = {}
    seen, image = None, str(task.params["image"])
    for name in task.params["nodes"]:
        began = task.clock.now()
        switch = _Switch(task, client, way, writers, name, image)
        seen, verdict = switch.finish()
        image = switch.image
        before = before or _shown(seen)
        verdicts.append(verdict)
        took = task.clock.now() - began
        nodes.append(_result(seen, name, switch, verdict, took))
        if not verdict.passed:
            break
    changed = bool(task.journal.as_result())
    after = _shown(seen) if seen else {}
    following = "restored" if task.params["state"] == "evacuated" else "the next node"
    return Outcome(
        combine(verdicts), changed, before, after, following, {"members": nodes, "nodes": nodes, "way": way.name}
    )


def _settles(said: Verdict) -> bool:
    """Whether nothing is waited for but that recurring jobs were held off for long enough."""
    return {each.code for each in said.deciding()} == {SETTLES}


def _judge_settling(found: tuple[Longhorn, SwitchStep, Verdict]) -> Verdict:
    """The verdict of a look; any other wait ends this one."""
    return Verdict() if found[2].state is State.WAITING and not _settles(found[2]) else found[2]


def _ended(reason: Reason) -> SwitchStep:
    return SwitchStep(SwitchStage.ERROR, (), Verdict((reason,)))


def _result(seen: Longhorn, name: str, switch: _Switch, verdict: Verdict, took: float) -> dict[str, Any]:
    stage = SwitchStage.COMPLETED if verdict.passed else switch.stage or SwitchStage.UNDEFINED
    home = {volume: {**shown, "state": SwitchStage.COMPLETED.value} for volume, shown in switch.moved.items()}
    return {
        "name": name,
        "state": stage.value,
        "message": " ".join(each.message for each in verdict.deciding()),
        "volumes": {**home, **switch.way.volumes(seen, name)},
        "touched": [each.name for each in touched(seen, name)],
        "action": "switched" if switch.acted else "kept" if verdict.passed else "untouched",
        "total_seconds": round(took, 1) if verdict.passed else None,
    }


def _shown(seen: Longhorn) -> dict[str, Any]:
    return {
        "images": {
            node: {each.name: f"{each.image} ({each.state or 'unknown'})" for each in found}
            for node, found in sorted(seen.managers_of.items())
        },
        "scheduling": {name: node.allow_scheduling for name, node in sorted(seen.nodes.items())},
        "engines": {each.name: each.engine_node for each in seen.v2_volumes if each.engine_node or each.home_mark},
    }
