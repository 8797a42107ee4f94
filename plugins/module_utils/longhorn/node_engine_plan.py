# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Longhorn part of the module `node_engine_plan`: the order, its further checks, and putting back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..common.side_by_side import Part
from ..common.task import Outcome, Task
from ..common.verdict import Verdict, combine
from ..engine.begin_and_end import System
from ..kubernetes.client import connect
from ..kubernetes.rights import missing_rights
from .judge.order import digest, order, version_text
from .judge.preflight import judge_target, preflight
from .judge.stages import REPLACEMENT
from .node_engine_switch import CONTRACT, restore
from .observe.kinds import NAMESPACE
from .observe.look import image_of, look
from .observe.state import Longhorn
from .rights import CLUSTER_ROLE, rights_for
from .way import Way, offered_way

IDENTITY = "longhorn"
"""The name of the cluster for its lock and its record: a namespace has one Longhorn at the most."""


def _order(task: Task) -> Outcome:
    """The nodes in their order. In one pass an API that is out of reach is waited for by the next one."""
    client = connect(task.params["kubernetes"])
    (way, seen), _verdict = task.wait(
        lambda: (offered_way(client), look(client, task.params["namespace"])), lambda _seen: Verdict()
    )
    params, image = task.params, image_of(seen)
    names, accepted = params["nodes"], params["accept_unverified"]
    turns = order(seen, image, names)
    batches: list[dict[str, Any]] = [
        {
            "name": f"node-{number:02d}",
            "pools": [IDENTITY],
            "members": [turn.node],
            "cures": False,
            "reason": turn.reason,
            "proof": turn.proof,
        }
        for number, turn in enumerate(turns, start=1)
    ]
    going = {turn.node for turn in turns}
    versions = {name: version_text(seen, name) for name in sorted(seen.managers_of)}
    strangers = [name for name in names if name not in seen.managers_of]
    left = [name for name in versions if name not in going and names and name not in names]
    return Outcome(
        combine(
            (judge_target(image, params["target_version"]), _without(preflight(seen, strangers, image, accepted), way))
        ),
        before=versions,
        next="begin" if batches else "nothing",
        more={
            "target_version": params["target_version"],
            "image": image,
            "way": way.name,
            "cluster_uuid": IDENTITY,
            "deployed_version": min(versions.values(), default=""),
            "pools": [{"name": IDENTITY, "members": list(versions)}],
            "batches": batches,
            "members": list(versions),
            "left": left,
            "volumes": _volumes(seen),
            "digest": digest(seen, image, names, (*accepted, way.name), params["extra_replicas"]),
        },
    )


def _without(found: Verdict, way: Way) -> Verdict:
    """The blockers that are some in this way, too."""
    return Verdict(tuple(each for each in found.reasons if each.code not in way.excused))


def _volumes(seen: Longhorn) -> dict[str, list[str]]:
    return {name: [each.name for each in found] for name, found in sorted(seen.volumes_on.items())}


def _preflight(task: Task, planned: Outcome) -> Iterator[Part]:
    """All that stands in the way of the nodes in the order; some of it is waited for."""
    nodes = [member for batch in planned.more["batches"] for member in batch["members"]]

    def run(given: Task) -> Outcome:
        client, params = connect(given.params["kubernetes"]), given.params
        way, image = offered_way(client), str(planned.more["image"])

        def judged(seen: Longhorn) -> Verdict:
            accepted, extra = {*params["accept_unverified"], *way.accepted}, params["extra_replicas"]
            found = preflight(seen, nodes, image, accepted, extra)
            return combine((_without(found, way), way.blockers(seen, nodes, image)))

        _seen, verdict = given.wait(lambda: way.look(client, params["namespace"]), judged)
        return Outcome(verdict)

    yield Part(run, task.params)
    yield Part(_rights, task.params)


def _rights(task: Task) -> Outcome:
    """Every right that the run will need."""
    params, client = task.params, connect(task.params["kubernetes"])
    task.may_look()
    records = params["record_kept_in"] in {None, "kubernetes"}
    way = offered_way(client)
    replaces = REPLACEMENT in params["accept_unverified"] and REPLACEMENT not in way.accepted
    needed = rights_for(records=records, replaces=replaces, way=way.rights)
    verdicts = (missing_rights(client, params["namespace"], needed), missing_rights(client, "", CLUSTER_ROLE))
    return Outcome(combine(verdicts))


def _put_back(task: Task) -> Outcome:
    """Put back what interrupted runs have left on nodes that are not in this plan; the others are gone on with."""
    client = connect(task.params["kubernetes"])
    seen = look(client, task.params["namespace"])
    going = [turn.node for turn in order(seen, image_of(seen), task.params["nodes"])]
    return restore(task, client, going)


SYSTEM = System(
    name="longhorn",
    options={
        "namespace": {"type": "str", "default": NAMESPACE},
        "nodes": {"type": "list", "elements": "str", "default": []},
        "extra_replicas": {"type": "bool", "default": False},
        "accept_unverified": CONTRACT.argument_spec["accept_unverified"],
    },
    uuid=lambda _task: IDENTITY,
    order=_order,
    preflight=_preflight,
    put_back=_put_back,
)
