"""The methods by which a node's engine can be switched, and the one that the API server offers.

A method is data and functions. It is chosen by the kinds that discovery shows, never by a version. A further method is
one more entry of `WAYS`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ..common.errors import refusal
from ..common.reading import listed, text
from ..common.verdict import Reason, State, Verdict
from ..kubernetes.answers import reading
from ..kubernetes.client import KubernetesClient
from ..kubernetes.rights import Right
from .act.changes import At, perform
from .act.upgrades import perform_upgrades, take_back
from .judge import upgrades
from .judge.reasons import REPLACEMENT
from .judge.recurring_jobs import with_jobs_held
from .judge.stages import Act, SwitchStep, WantedSwitch, step
from .judge.volumes import moved_from
from .observe.kinds import API, FRONTENDS, INSTANCE_MANAGERS, VOLUMES
from .observe.look import look
from .observe.look_at_upgrades import look_with_upgrades
from .observe.recurring_jobs import look_with_jobs
from .observe.state import Longhorn
from .observe.upgrades import UpgradeKinds
from .rights import rights_to_upgrade

Shown = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class SwitchMethod:
    """One method to switch the engine of a node."""

    name: str
    """Its name in results."""
    kinds: frozenset[str]
    """The resources that the API server has to offer for it."""
    look: Callable[[KubernetesClient, str], Longhorn]
    """One look at Longhorn in a namespace, with all that `step` needs."""
    step: Callable[[Longhorn, WantedSwitch], SwitchStep]
    """The state of the node, and the acts that are due in it, from one look alone. It is pure."""
    perform: Callable[[At, Iterable[Act]], list[Reason]]
    """Makes the acts that are due. The result has a waiting reason for each that was refused for now."""
    volumes: Callable[[Longhorn, str], Shown]
    """The volumes whose engines were moved away from a node: where from, where to, and their state."""
    blockers: Callable[[Longhorn, Sequence[str], str], Verdict] = lambda _seen, _nodes, _image: Verdict()
    """The further blockers of switching these nodes to an image. It is pure."""
    take_back: Callable[[At, Collection[str]], list[Reason]] = lambda _at, _keep: []
    """Starts to take back what runs have started, except for some nodes. The result says what is waited for."""
    excused: frozenset[tuple[State, str]] = frozenset()
    """The states and codes of blockers of a switch from outside that do not apply to this method."""
    accepted: frozenset[str] = frozenset()
    """The unverified steps of a switch from outside that this method does not make, so no one has to accept them."""
    rights: tuple[Right, ...] = ()
    """The rights in the namespace that it needs beyond those of every method."""


def _moved(seen: Longhorn, node: str) -> Shown:
    return {
        each.name: {
            "original": each.home_mark,
            "temporary": each.engine_at,
            "state": each.switchover or each.robustness,
        }
        for each in moved_from(seen, node)
    }


def _of_upgrades(seen: Longhorn, node: str) -> Shown:
    return {
        name: {"original": each.original_node, "temporary": each.temporary_node, "state": each.state}
        for name, each in upgrades.volumes_of(seen.upgrades, node).items()
    }


def _by_longhorn(name: str, kinds: UpgradeKinds, excused: frozenset[tuple[State, str]] = frozenset()) -> SwitchMethod:
    return SwitchMethod(
        name=name,
        kinds=frozenset(kinds.value),
        look=partial(look_with_jobs, partial(look_with_upgrades, kinds=kinds)),
        step=with_jobs_held(upgrades.step),
        perform=perform_upgrades,
        volumes=_of_upgrades,
        blockers=upgrades.blockers,
        take_back=take_back,
        excused=excused,
        accepted=frozenset({REPLACEMENT}),
        rights=rights_to_upgrade(kinds),
    )


OUTSIDE = SwitchMethod(
    "outside",
    frozenset({VOLUMES, INSTANCE_MANAGERS, FRONTENDS}),
    partial(look_with_jobs, look),
    with_jobs_held(step),
    perform,
    _moved,
)
"""From outside, with the fields of 1.12: this collection carries out the state machine itself."""
DATA_ENGINE_UPGRADES = _by_longhorn("data_engine_upgrades", UpgradeKinds.DATA_ENGINE_UPGRADES)
"""With the kinds of the design "v2 data engine live upgrade", which no release has."""
INSTANCE_MANAGER_UPGRADES = _by_longhorn(
    # The image of the only instance manager of a node is changed in its place.
    "instance_manager_upgrades",
    UpgradeKinds.INSTANCE_MANAGER_UPGRADES,
    # Engines of standby volumes, which are refused, are left where they are. Others without a frontend are moved.
    frozenset(
        {
            (State.REFUSED, "system_not_upgraded"),
            (State.WAITING, "manager_missing"),
            (State.REFUSED, "frontend_disabled"),
        }
    ),
)
"""With the kinds of v1.13, whose names are unverified."""

WAYS = (DATA_ENGINE_UPGRADES, INSTANCE_MANAGER_UPGRADES, OUTSIDE)


def method_named(name: str) -> SwitchMethod:
    """The method with this name, as a plan has it."""
    return next(way for way in WAYS if way.name == name)


def offered_method(client: KubernetesClient) -> SwitchMethod:
    """The method of which the API server offers all kinds.

    Raises:
        Refusal: it offers the kinds of none, or discovery cannot be had, or what it offers is ambiguous.
    """
    answer = client.get(API) or {}
    with reading(f"to {API}"):
        return method_of(set(listed(answer, "resources", lambda each: text(each, "name"), ())))


def method_of(offered: Collection[str]) -> SwitchMethod:
    """The method for an API server with these resources. It is pure.

    Raises:
        Refusal: there is none, or there are two, or a method has some of its kinds and lacks others.
    """
    by_longhorn = [way for way in WAYS if way is not OUTSIDE and way.kinds & set(offered)]
    for way in by_longhorn:
        missing = sorted(way.kinds - set(offered))
        if missing:
            raise refusal(
                "kinds_incomplete",
                f"The API server offers {', '.join(sorted(way.kinds & set(offered)))} and not {', '.join(missing)},"
                " which Longhorn uses together.",
                "Complete the custom resource definitions of this Longhorn, or remove those that are left over.",
            )
    if len(by_longhorn) > 1:
        raise refusal(
            "kinds_ambiguous",
            f"The API server offers {' and '.join(sorted(kind for way in by_longhorn for kind in way.kinds))}, and"
            " Longhorn uses only two of them.",
            "Remove the custom resource definitions that are not of this Longhorn.",
        )
    if by_longhorn:
        return by_longhorn[0]
    if not OUTSIDE.kinds <= set(offered):
        raise refusal(
            "way_missing",
            f"The API server lacks kinds that a switch needs, such as {FRONTENDS} of the group longhorn.io.",
            "Longhorn 1.12 is the first version whose engines can be switched; upgrade Longhorn first.",
        )
    return OUTSIDE
