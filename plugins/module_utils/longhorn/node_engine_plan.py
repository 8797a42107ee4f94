"""The Longhorn part of the module `node_engine_plan`: the order, its further checks, and putting back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..common.side_by_side import ParallelWork
from ..common.task import Outcome, Task, attempt, sentences
from ..common.verdict import Verdict, combine, remark
from ..kubernetes.client import KubernetesClient, connect
from ..kubernetes.rights import missing_rights
from ..pools.image_pull import prove
from ..run.begin_and_end import System, part_of
from ..run.colouring import Turn
from ..run.ordered import Whole, ordered
from ..run.output.plan_text import Words
from .judge.order import digest, order, v2_nodes, version_text
from .judge.preflight import UNLISTED_IMAGES, judge_target, preflight, unlisted
from .judge.reasons import REPLACEMENT
from .judge.upgrades import one_upgrade
from .node_engine_switch import CONTRACT, restore, run
from .observe.kinds import NAMESPACE
from .observe.look import image_of, look, model_of_managers
from .observe.state import Longhorn
from .rights import CLUSTER_ROLE, rights_for
from .switch_method import SwitchMethod, method_named, offered_method

IDENTITY = "longhorn"
"""The name of the cluster for its lock and its record: a namespace has one Longhorn at the most."""
KEPT = "kept"
"""The fate of the snapshots of an upgrade, if they are not removed at its end."""


def _order(task: Task) -> Outcome:
    """The nodes in their order. A plan waits until they are fit, and names all that stands in their way."""
    client, params = connect(task.params["kubernetes"]), task.params
    names, accepted = params["nodes"], params["accept_unverified"]
    found: list[SwitchMethod] = []

    def again() -> Longhorn:
        if not found:
            found.append(offered_method(client))
        return found[0].look(client, params["namespace"])

    def judged(seen: Longhorn) -> Verdict:
        return _blockers(task, found[0], seen, image_of(seen))

    seen, verdict = task.wait(again, judged)
    (way,), image = found, image_of(seen)
    turns = order(seen, image, names)
    going = {turn.node for turn in turns}
    versions = {name: version_text(seen, name) for name in v2_nodes(seen)}
    left = [name for name in versions if name not in going and names and name not in names]
    in_one_object = [turn.node for turn in turns] if params["one_object"] else []
    return ordered(
        Whole(IDENTITY, {IDENTITY: list(versions)}, versions),
        params["target_version"],
        [Turn([turn.node], turn.reason, turn.proof, images={turn.node: turn.image}) for turn in turns],
        verdict,
        unit="node",
        image=image,
        unlisted=unlisted(seen, [turn.node for turn in turns], image),
        way=way.name,
        in_one_object=in_one_object,
        left=left,
        volumes=_volumes(seen),
        digest=digest(seen, image, names, (*accepted, way.name, *_one_object(params)), params["extra_replicas"]),
    )


def _one_object(params: Mapping[str, Any]) -> tuple[str, ...]:
    return ("one_object",) if params["one_object"] else ()


def _blockers(task: Task, way: SwitchMethod, seen: Longhorn, image: str) -> Verdict:
    """All that stands in the way of the whole when the run starts and, in a plan, of each node too."""
    params, names = task.params, task.params["nodes"]
    nodes = [name for name in names if name not in seen.managers_of]
    verdicts = [judge_target(image, params["target_version"])]
    if params["state"] == "planned":
        going = [turn.node for turn in order(seen, image, names)]
        verdicts.append(way.blockers(seen, going, image))
        if params["one_object"]:
            verdicts.append(Verdict(tuple(one_upgrade(seen.upgrades.kinds, going))))
        nodes += going
    accepted = {*params["accept_unverified"], *way.accepted}
    reasons = preflight(seen, nodes, image, accepted, params["extra_replicas"]).reasons
    return combine((*verdicts, Verdict(tuple(each for each in reasons if (each.state, each.code) not in way.excused))))


def _volumes(seen: Longhorn) -> dict[str, list[str]]:
    return {name: [each.name for each in found] for name, found in sorted(seen.volumes_on.items())}


def _preflight(task: Task, planned: Outcome) -> Iterator[ParallelWork]:
    """The rights, and the image on nodes that do not name it."""
    more, params = planned.more, task.params
    proves = [] if UNLISTED_IMAGES in params["accept_unverified"] else list(more["unlisted"])

    def run(given: Task) -> Outcome:
        client = connect(given.params["kubernetes"])
        rights = _rights(given, client, method_named(str(more["way"])), proves=bool(proves))
        # Without the rights, or for a plan that is refused anyway, a pod would show nothing more.
        if not (proves and planned.verdict.passed and rights.passed):
            return Outcome(rights)
        model = model_of_managers(client, params["namespace"], proves[0])
        proven = prove(given, client, model, str(more["image"]), proves)
        return replace(proven, verdict=combine((rights, proven.verdict)))

    # It waits even in one pass, at the end of which no throw-away pod may be left.
    yield ParallelWork(
        run,
        {
            **params,
            "wait": True,
            "wait_timeout": max(params["image_timeout"], params["wait_timeout"]),
            "wait_sleep": 0.25,
        },
    )


def _rights(task: Task, client: KubernetesClient, way: SwitchMethod, *, proves: bool) -> Verdict:
    """Every right that the run will need."""
    params = task.params
    task.may_look()
    records = params["record_kept_in"] in {None, "kubernetes"}
    replaces = REPLACEMENT in params["accept_unverified"] and REPLACEMENT not in way.accepted
    needed = rights_for(records=records, replaces=replaces, proves=proves, way=way.rights)
    verdicts = (missing_rights(client, params["namespace"], needed), missing_rights(client, "", CLUSTER_ROLE))
    return combine(verdicts)


def _put_back(task: Task) -> Outcome:
    """Put back what interrupted runs have left on nodes that are not in this plan; the others continue."""
    client = connect(task.params["kubernetes"])
    seen = look(client, task.params["namespace"])
    going = [turn.node for turn in order(seen, image_of(seen), task.params["nodes"])]
    return restore(task, client, going)


def _clean_up(task: Task) -> Outcome:
    """Remove the snapshots of the upgrade, unless they are to be kept."""
    if task.params["snapshots"] == KEPT:
        return Outcome(Verdict())
    own = {"state": "cleaned", "wait_timeout": CONTRACT.argument_spec["wait_timeout"]["default"]}
    cleaned = attempt(lambda given: part_of(given, CONTRACT, run, **own), task)
    said = " ".join(sentences(cleaned.verdict).splitlines())
    return Outcome(Verdict((remark("snapshots_stay", said),) if said else ()))


SYSTEM = System(
    name="longhorn",
    options={
        "namespace": {"type": "str", "default": NAMESPACE},
        "nodes": {"type": "list", "elements": "str", "default": []},
        "extra_replicas": {"type": "bool", "default": False},
        "one_object": {"type": "bool", "default": False},
        "image_timeout": {"type": "int", "default": 300},
        "accept_unverified": CONTRACT.argument_spec["accept_unverified"],
        "snapshots": {"type": "str", "default": "removed", "choices": ["removed", KEPT]},
    },
    uuid=lambda _task: IDENTITY,
    order=_order,
    preflight=_preflight,
    put_back=_put_back,
    clean_up=_clean_up,
    words=lambda _params, _plan: Words("Kubernetes node", "v2 data engine of Longhorn"),
)
