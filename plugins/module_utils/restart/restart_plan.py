"""The part of a restart in the module `restart_plan`: the order, its further checks, scheduling, and putting back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from ..common.errors import Refusal
from ..common.side_by_side import ParallelWork
from ..common.task import Outcome, Task
from ..common.verdict import Verdict, combine
from ..common.words import enumerate_few
from ..kubernetes import client as kubernetes
from ..kubernetes.rights import EXECUTE, PORT_FORWARD, missing_rights
from ..kubernetes.stateful_sets import observe_namespace
from ..opensearch import pool_order, upgrade_plan
from ..opensearch.both_sides import see
from ..opensearch.judge.checks import IMAGES
from ..opensearch.judge.pools import Pool
from ..opensearch.judge.set_pools import pool_of_set
from ..opensearch.observe.client import connect
from ..opensearch.observe.look import MembersAndPods
from ..opensearch.replica_plan import RAISES, raised_words
from ..opensearch.shard_allocation import settings_of_a_run
from ..opensearch.size_plan import REMOVAL, PlannedSizes, judge_planned, plan_sizes
from ..pools import admission
from ..pools.judge import is_down
from ..run.begin_and_end import part_of
from ..run.output.plan_text import Words
from ..run.record.phases import Deed
from . import process_restart
from .act.licence import bring_licence
from .act.marks import cluster_of
from .by_agent import THROUGH_KUBERNETES
from .configuration_plan import PlannedConfiguration, judge_pods, plan_configuration
from .given import given_addresses
from .judge.choice import ChosenRestart, Course, Line, PoolToRestart, RunBy, chosen_restart, judge_course, together_of
from .judge.configuration_diff import settings_diff
from .judge.once import carried_in
from .judge.phases import (
    CLUSTER,
    RUN,
    UNDER_WAY,
    Marked,
    RestartPhase,
    is_to_restart,
    judge_singles,
    judge_words,
    marked,
    phase_of,
    scheduled_at_once,
)
from .judge.pod_spec import Mounted
from .judge.pods_to_restart import (
    PodsToRestart,
    as_agreed,
    judge_all_ready,
    judge_pods_to_restart,
    judge_stops,
    marked_in_part,
    pods_to_restart,
)
from .licence_plan import PlannedLicence, licence_of, plan_licence
from .look import annotations_of
from .observe.agent import judge_connection
from .on_hosts import forget_on_hosts, note_on_hosts, order_on_hosts
from .once import agreed_to, note_completed, note_request, once, settings_of
from .options import CONFIGURATION, LICENCE, RESTART
from .process_controls import keeps_stopped
from .rights import CONFIGURING, MARKING
from .template_plan import changed_templates, plugins_of


def _order(task: Task) -> Outcome:
    """The members that are due, in their order."""
    if pool_order.on_hosts(task.params):
        return order_on_hosts(task)
    # A pod that is made again has the former image.
    seen, troubles = see(replace(task, params={**task.params, "skip_checks": [IMAGES]}))
    words = judge_words(annotations_of(seen.sets, chain(*seen.pods.values())), task.params["annotation"])
    if not words.passed:
        raise Refusal(*words.reasons)
    marks = _marks(seen, task.params["annotation"])
    configuration = plan_configuration(task, seen, marks)
    last = carried_in(settings_of(task), seen.state.uuid)
    partly = (last is None or bool(last.completed)) and marked_in_part(marks, last.left if last is not None else ())
    stops = keeps_stopped(task.params["way"])
    request = pods_to_restart(marks, configuration.due, stops=stops, partly=partly)
    request = as_agreed(request, marks, last.scheduled if last is not None and not last.completed else ())
    by = RunBy(task.params["replace_pods"])
    given, target, versions = pool_order.to_restart(task, seen.state, {mark.name for mark in marks})
    found = {one.name: pool_of_set(one, seen, given.params, target) for one in seen.sets if seen.pods[one.name]}
    outdated = by is not RunBy.PROCESS and any(each.outdated for pool in found.values() for each in pool.members)
    wishes = (any(mark.phase for mark in marks), request.to_stop, configuration.due, outdated)
    used_up = agreed_to(task, last) and not any(wishes)
    request = replace(request, names=frozenset()) if used_up else request
    sizes = plan_sizes(task, seen)
    stay = [mark for mark in marks if mark.name not in sizes.removed]
    asked = [_asked(pool, request, stay, configuration, by) for pool in found.values()]
    licence = plan_licence(task, seen, configuration.changes)
    addresses = given_addresses(task.params["opensearch"])
    choice = chosen_restart(asked, by, together=together_of(marks), everywhere=licence.everywhere, addresses=addresses)
    templates = changed_templates(task, seen, choice.replaced)
    at_once, plugins = scheduled_at_once(marks), plugins_of(task, seen, choice.replaced)
    unsure = frozenset(each.pool for each in asked if not each.same_version)
    every = _Wishes(request, configuration, licence, sizes, choice, templates, plugins, at_once, unsure)
    verdict = combine((*troubles, judge_pods_to_restart(request, marks, versions), *every.judged(task, seen, marks)))
    pools = tuple(_due(pool, choice, request, marks) for pool in found.values())
    drawn = pool_order.drawn_from(seen, pools, verdict)
    # These words stay as they are: consents that were given with earlier releases cover them.
    conditions = (f"by {task.params['way']}", f"restart_by {by.name.lower()}", *every.conditions())
    planned = pool_order.planned(_agreed(given, choice), drawn, target, conditions, every.at_once)
    planned = every.planned(planned, {pool.name: pool.kind.value for pool in found.values()})
    goes_on = configuration.due is not None or any(mark.phase for mark in marks)
    return pool_order.with_visible_nodes(
        task, once(planned, last, goes_on=goes_on, used_up=used_up, scheduled=request.by_person)
    )


@dataclass(frozen=True)
class _Wishes:
    """All that is wanted of a cluster, as the plan sees it."""

    request: PodsToRestart
    configuration: PlannedConfiguration
    licence: PlannedLicence
    sizes: PlannedSizes
    choice: ChosenRestart
    templates: tuple[Line, ...]
    """The changed parts of the templates of pods that are replaced."""
    plugins: Mapping[str, Any]
    """Whether plugins that were installed into running pods stay, by pool."""
    at_once: frozenset[str]
    """The members that a person wants to go together."""
    unsure: frozenset[str]
    """The pools whose new pods are not known to run the version that their members run."""

    def judged(self, task: Task, seen: MembersAndPods, marks: Sequence[Marked]) -> Iterator[Verdict]:
        """All reasons against it, and remarks."""
        choice = self.choice
        yield from (self.configuration.verdict, self.licence.verdict, choice.verdict, _judge_way(task, choice, marks))
        together = choice.course is Course.COORDINATED
        yield judge_planned(task, seen, self.sizes, together=together, unsure=self.unsure)
        if together:
            yield _judge_all_ready(seen, choice, marks).without_waiting()
        for one in seen.sets:
            if (choice.due - choice.replaced) & {*one.member_names()}:
                yield judge_pods(task.params, one)

    def conditions(self) -> Iterator[str]:
        """The words that consent covers."""
        yield from (self.request.condition, self.choice.condition)
        if self.at_once:
            yield f"at once: {' '.join(sorted(self.at_once))}"
        yield from (*self.configuration.conditions, *self.licence.conditions, *self.sizes.conditions)

    def planned(self, planned: Outcome, kinds: Mapping[str, str]) -> Outcome:
        """The plan for a person, from that of the members that are due. `kinds` are those of the pools."""
        choice, sizes = self.choice, self.sizes
        batches = [_described(batch, choice, self.request) for batch in _batches(planned, choice)]
        alone = judge_singles(self.at_once, [batch["members"] for batch in batches])
        going = frozenset(name for batch in batches for name in batch["members"])
        shown = replace(choice, due=choice.due & going, replaced=choice.replaced & going)
        expected = [name for name in planned.more["members"] if name not in self.request.to_stop] + sizes.added
        more = {
            **planned.more,
            **shown.as_result(),
            **self.licence.as_result(),
            "details": [
                *self.licence.details,
                *sizes.details(),
                *shown.details(),
                *(line.detail() for line in self.templates),
            ],
            "template_changes": [line.as_result() for line in self.templates],
            "plugins": dict(self.plugins),
            "members": expected,
            "outdated": [],
            # A process that restarts in its pod needs no place.
            "kubernetes_nodes": {
                name: node for name, node in planned.more["kubernetes_nodes"].items() if name in shown.replaced
            },
            "batches": [*batches, *sizes.batches(len(batches), expected, kinds)],
            "added": sizes.added,
            "removed": sizes.removed,
        }
        more["asks_without_batches"] |= bool(sizes.added)
        details = settings_diff(self.configuration.changes)
        return replace(planned, verdict=combine((planned.verdict, alone)), more=more, details=details)


def _judge_way(task: Task, choice: ChosenRestart, marks: Sequence[Marked]) -> Verdict:
    """Whether the process control can do what the run needs, and the user agrees to it."""
    way, keeps, allowed = task.params["way"], keeps_stopped(task.params["way"]), task.params["allow_full_restart"]
    course = judge_course(choice, marks, way, keeps=keeps, allowed=allowed)
    by_agent = sorted(choice.due - choice.replaced)[:1] if way == "agent" else ()
    exposed = [judge_connection(task.params["agent"] or {}, name) for name in by_agent]
    return combine((judge_stops(marks, way, keeps_stopped=keeps), course, *exposed))


def _judge_all_ready(seen: MembersAndPods, choice: ChosenRestart, marks: Sequence[Marked]) -> Verdict:
    """Whether all that are to stop at once are up, except those that a person wants stopped."""
    there = {pod.name: pod for pods in seen.pods.values() for pod in pods}
    missing = {name for one in seen.sets for name in one.member_names()} - there.keys()
    going = {mark.name for mark in marks if not mark.stays_stopped and mark.phase not in UNDER_WAY} & choice.due
    return judge_all_ready(missing, [name for name in going if is_down(there[name])])


def _agreed(given: Task, choice: ChosenRestart) -> Task:
    """The task that plans. A user who agrees to a restart of the whole cluster agrees to what goes with it."""
    if choice.course is not Course.COORDINATED:
        return given
    # Members are put into one batch afterwards. None hands over to another one then.
    own = {"allow_single_copy": ["*"], "allow_quorum_loss": True, "hand_over": False, "batching": "serial"}
    # No replica helps where all members stop.
    own |= {"raise_replicas": []}
    return replace(given, params={**given.params, **own})


def _batches(planned: Outcome, choice: ChosenRestart) -> list[dict[str, Any]]:
    """The batches of a plan; a single one of all members if all processes stop before the first one starts."""
    batches: list[dict[str, Any]] = planned.more["batches"]
    if choice.course is not Course.COORDINATED or not batches:
        return batches
    one = {
        **batches[0],
        "name": "all",
        "pools": sorted({pool for batch in batches for pool in batch["pools"]}),
        "members": [name for batch in batches for name in batch["members"]],
        "reason": "all processes stop, the configuration is put in place everywhere, and then all start",
        "proof": "all members are there",
        "together": True,
    }
    return [one]


def _marks(seen: MembersAndPods, key: str) -> list[Marked]:
    return [
        marked(pod.name, pod.uid, pod.annotations, phase_of(one.annotations, key), key)
        for one in seen.sets
        for pod in seen.pods[one.name]
    ]


def _asked(
    pool: Pool, request: PodsToRestart, marks: Iterable[Marked], planned: PlannedConfiguration, by: RunBy
) -> PoolToRestart:
    """What one pool is to get. A restart that is under way is completed as it was started."""
    own = {mark.name: mark for mark in marks if mark.name in {each.name for each in pool.members}}
    free = frozenset(name for name, mark in own.items() if not mark.stays_stopped or name in request.to_stop)
    outdated = frozenset(each.name for each in pool.members if each.outdated) & free - request.under_way
    # One command is enough for any change: a template that has changed is one. A person who marks pods means those.
    for_template = outdated if by is not RunBy.PROCESS and not request.by_person else frozenset[str]()
    return PoolToRestart(
        pool=pool.name,
        members=free,
        due=(request.names & free) | for_template,
        marked=frozenset(n for n, mark in own.items() if mark.phase or n in request.to_stop)
        if planned.due is not None
        else request.names & free,
        changes={n: each for n, each in planned.changes.get(pool.name, {}).items() if n in free - request.to_stop},
        mounted=planned.mounted.get(pool.name, Mounted("")),
        outdated=outdated,
        under_way=request.under_way & free,
        same_version=pool.image == pool.target_image,
    )


def _described(batch: Mapping[str, Any], choice: ChosenRestart, request: PodsToRestart) -> dict[str, Any]:
    """A batch with how it restarts, and with words for pods that are replaced, and processes that stay stopped."""
    by = choice.by(batch["members"])
    mixed = choice.replaced and choice.due - choice.replaced
    words = f"; {'its pod is' if len(batch['members']) == 1 else 'their pods are'} replaced"
    stops = [name for name in batch["members"] if name in request.to_stop]
    stay = f"; stopped for good: {enumerate_few(stops)}" if stops else ""
    return {**batch, "by": by, "reason": batch["reason"] + (words if mixed and by == "pod" else "") + stay}


def _due(pool: Pool, choice: ChosenRestart, request: PodsToRestart, marks: Iterable[Marked]) -> Pool:
    """The pool, in which the members that are to go are due. Those that a person has had stopped are left out."""
    resting = {mark.name for mark in marks if mark.rests}
    members = tuple(
        replace(each, outdated=False, due=each.name in choice.due, under_way=each.name in request.under_way)
        for each in pool.members
        if each.version is not None or each.name not in resting
    )
    return replace(pool, members=members)


def _preflight(task: Task, order: Outcome) -> Iterator[ParallelWork]:
    params, more = task.params, order.more
    there = [name for name in more["members"] if name not in more.get("added", ())]
    yield upgrade_plan.first_gate(params, more, expected=there, target_version=more["target_version"])
    if not params["groups"]:
        yield ParallelWork(_rights, {**params, "batches": more["batches"]})
        # The pods that are replaced come back from the template that is there.
        replaced = [batch for batch in more["batches"] if batch["by"] == "pod"]
        yield ParallelWork(admission.run, {**params, "planned": upgrade_plan.returning(more, replaced)})


def _rights(task: Task) -> Outcome:
    client = kubernetes.connect(task.params["kubernetes"])
    params = task.params
    by_agent = PORT_FORWARD if (params["agent"] or {}).get("through", THROUGH_KUBERNETES) == THROUGH_KUBERNETES else ()
    of_way = EXECUTE if params["way"] == "kubelet" else by_agent
    in_place = any(batch["by"] == "process" for batch in params["batches"])
    rights = (*MARKING, *(of_way if in_place else ()), *(CONFIGURING if params["configuration"] else ()))
    return Outcome(task.ask(lambda: missing_rights(client, task.params["namespace"], rights, seen=True)))


def _schedule(task: Task, order: Outcome) -> Outcome:
    """Mark all pods of the plan, so that a killed run can be continued, and note the request."""
    if task.params["groups"]:
        return note_on_hosts(task, order)
    marked_all = _marked_all(task, order)
    # A note without marks says that nothing of the request is left.
    noted = note_request(task, order) if marked_all.verdict.passed else Outcome(Verdict())
    return Outcome(combine((marked_all.verdict, noted.verdict)), marked_all.changed or noted.changed)


def _marked_all(task: Task, order: Outcome) -> Outcome:
    batches = [batch for batch in order.more["batches"] if batch["by"] != REMOVAL]
    grown = [
        each["pool"] for each in task.params["configuration"] or () if each.get("replicas") and order.more["added"]
    ]
    going: dict[str, Any] = {
        "pools": sorted({*grown, *(pool for batch in batches for pool in batch["pools"])}),
        "batch": [name for batch in batches for name in batch["members"]],
    }
    wanted = licence_of(task.params) if order.more["licence_first"] else None
    if wanted is not None and not task.check_mode:
        bring_licence(task, connect(task.params["opensearch"], task.params["kubernetes"]), wanted)
    if not going["pools"] or task.check_mode:
        return Outcome(Verdict())
    together = order.more["course"] == Course.COORDINATED.value
    going["phase"] = (RestartPhase.SCHEDULE_COORDINATED if together else RestartPhase.SCHEDULE_ROLLING).value
    return part_of(task, process_restart.CONTRACT, process_restart.run, state="scheduled", **going)


def _last(task: Task) -> Outcome:
    if task.params["groups"]:
        return forget_on_hosts(task)
    return note_completed(task, _left(task))


def _left(task: Task) -> list[str]:
    """The pods that are left of those which runs on this cluster have marked. A run that was limited to some members
    leaves those of an interrupted one."""
    client, lock = kubernetes.connect(task.params["kubernetes"]), cluster_of(task)
    there = task.ask(lambda: observe_namespace(client, task.params["namespace"]))
    left = [pod for pod in there.pods if is_to_restart(pod.annotations, task.params["annotation"])]
    return [each.name for each in left if each.annotations.get(RUN) and each.annotations.get(CLUSTER, "") == lock]


def _words(params: Mapping[str, Any], more: Mapping[str, Any]) -> Words:
    changes = [settings_of_a_run(params["recoveries"]), "" if params["groups"] else "an annotation of each pod"]
    changes.append(raised_words(more.get(RAISES, {})))
    stays = ["the new configuration of each member"] if params["configuration"] else []
    return Words(system=more["product"], changes=changes, stays=stays)


SYSTEM = replace(
    upgrade_plan.SYSTEM,
    name="restart",
    deed=Deed.RESTART,
    options={
        **pool_order.PLAN,
        **upgrade_plan.OPTIONS_OF_RUN,
        "configurations": {"type": "dict", "default": {}, "no_log": True},
        "agreed": {"type": "str"},
        **RESTART,
        **CONFIGURATION,
        "setting_needs": {"type": "dict", "default": {}},
        **LICENCE,
        "replace_pods": {"type": "str", "default": RunBy.AUTO.value, "choices": [each.value for each in RunBy]},
    },
    order=_order,
    preflight=_preflight,
    announce=None,
    words=_words,
    first=_schedule,
    last=_last,
    has_target=False,
    counting=None,
)
