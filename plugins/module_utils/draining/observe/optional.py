"""Questions whose answer a plan can do without: the right for one, or its kind, may be missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ...common.errors import Denied, Refusal
from ...common.verdict import Reason, remark
from ...kubernetes.answers import is_not_found

Answer = TypeVar("Answer")


def asked(ask: Callable[[], Answer], what: str) -> tuple[Answer | None, tuple[Reason, ...]]:
    """The answer; or None and a remark that says that `what` was not computed, because the user lacks the right for it,
    or the server does not know the kind.

    Raises:
        Refusal: no answer can be had for another cause.
    """
    try:
        return ask(), ()
    except Refusal as error:
        (cause, *_others) = error.verdict.reasons
        if not isinstance(error, Denied) and not is_not_found(error):
            raise
        return None, (remark("not_computed", f"Not computed: {what}. {cause.message}", cause.remedy),)
