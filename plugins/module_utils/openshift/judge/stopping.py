"""The meaning of pause, abort and resume, before and after the update is commenced. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...common.release import Release
from ...run.colouring import Turn
from ..observe.state import OpenShift

BY_ITSELF = "the control plane continues by itself, and workers are held between batches"


def stopping_text(seen: OpenShift, batches: Sequence[Turn], next_one: Release) -> str:
    """The line of a plan with these batches, of which the first leads the control plane to `next_one`; empty if there
    are none."""
    if not batches:
        return ""
    if set(seen.masters).isdisjoint(batches[0].members):
        return "pause and abort hold the workers behind the current batch, resume continues with the next one"
    if seen.version.is_commenced(str(next_one)):
        return f"the update is commenced: with pause or abort {BY_ITSELF}; resume continues with them"
    return f"pause and abort stop all until the update is commenced; after that {BY_ITSELF}; resume continues with them"
