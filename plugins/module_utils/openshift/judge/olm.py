"""The operators of OLM that do not support a later version of a chain. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from ...common.release import Release
from ...common.verdict import Reason, as_verdict, remark
from ...common.words import first_few
from ..observe.minors import LAST_OF_4
from ..observe.state import OlmOperator


@as_verdict
def judge_operators_of_olm(operators: Collection[OlmOperator], hops: Sequence[Release]) -> Iterator[Reason]:
    """A remark for each upgrade of a chain but the first that an operator holds up; `hops` are those that are left.

    OpenShift itself says so only of the next minor version (its condition `Upgradeable`). An operator may be updated in
    between, and often only then, since the catalogs of operators have a version each.

    OLM compares with the minor version after the present one, also where 5.0 follows on it
    (operator-lifecycle-manager, `incompatibleOperators` in `pkg/controller/operators/openshift/helpers.go`).
    """
    left = list(operators)
    for before, hop in pairwise(hops):
        late = [
            each for each in left if _minor(before) < _minor(hop) and _first_minor(before) <= each.last < _next(before)
        ]
        if late:
            left = [each for each in left if each not in late]
            named = first_few([f"{each.name} ({each.last[0]}.{each.last[1]})" for each in late])
            said = f"The upgrade from {before} to {hop} waits for operators of OLM that support no later OpenShift"
            remedy = f"Update them before, or while the run waits at {before}."
            yield remark("operators_too_old", f"{said}: {named}.", remedy)


def _next(release: Release) -> tuple[int, int]:
    return release.major, release.minor + 1


def _first_minor(before: Release) -> tuple[int, int]:
    """The first version that did not hold up an earlier upgrade. 4.22 leads to 5.0 with operators for 4.23."""
    return LAST_OF_4 if _minor(before) == (5, 0) else _minor(before)


def _minor(release: Release) -> tuple[int, int]:
    return release.major, release.minor
