"""The forms of text that a variable takes, by the name that its entry in the table gives (`values`). Pure.

A date, an age and a share are checked with the function that reads them later, so that none passes here but is refused
in the middle of a run. The others have a pattern of their own here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..module_utils.common.errors import Refusal
from ..module_utils.opensearch.judge.last_snapshot import seconds_of
from ..module_utils.run.colouring import most_of
from ..module_utils.run.start.schedule import schedule_in

_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")
"""An RFC 1123 subdomain, as Kubernetes names most of its objects."""
_KEY = r"([A-Za-z0-9][-.A-Za-z0-9]*/)?[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?"
_VALUE = r"([A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?)?"
_ONE = rf"\s*(!?\s*{_KEY}|{_KEY}\s*(=|==|!=)\s*{_VALUE}|{_KEY}\s+(in|notin)\s*\(\s*{_VALUE}(\s*,\s*{_VALUE})*\s*\))\s*"
_LABELS = re.compile(rf"{_ONE}(,{_ONE})*")
"""Label selectors, as the manual of Kubernetes on labels and selectors describes them."""
_IMAGE = re.compile(
    r"([A-Za-z0-9][-.A-Za-z0-9]*(:\d+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:[\w][-.\w]{0,127})?(@\w+:[0-9a-f]{32,})?"
)
"""The reference of an image, as the distribution of images writes it (`reference.Parse`)."""


@dataclass(frozen=True)
class Form:
    """A form of text."""

    read: Callable[[str], object]
    """Raises ValueError or Refusal if a text does not have this form."""
    said: str
    """The words after "must be"."""
    shown: bool = True
    """Whether a wrong text may be repeated."""

    def fits(self, text: str) -> bool:
        """Whether a text has this form."""
        try:
            self.read(text)
        except (ValueError, Refusal):
            return False
        return True


def _matches(pattern: re.Pattern[str]) -> Callable[[str], None]:
    def read(text: str) -> None:
        if not pattern.fullmatch(text):
            raise ValueError(text)

    return read


def _read_url(text: str) -> None:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", text):
        raise ValueError(text)


FORMS: Mapping[str, Form] = {
    "image": Form(_matches(_IMAGE), "the name of an image, such as registry.example.com/opensearch:3.8.0"),
    "labels": Form(_matches(_LABELS), "a label selector of Kubernetes, such as app=opensearch,tier!=hot"),
    "moment": Form(
        lambda text: schedule_in({"at": text, "window": 1, "window_policy": "start_only"}),
        "a date and time with a zone as RFC 3339 writes it, such as 2026-11-21T02:00:00Z",
    ),
    "name": Form(
        _matches(_NAME), "a name of Kubernetes: small letters, digits, - and ., with a letter or digit at each end"
    ),
    "share": Form(lambda text: most_of(text, 1), "a number, 1 or more, or a percentage up to 100%"),
    "time": Form(seconds_of, "a number and a unit of time, such as 24h or 90m"),
    "url": Form(_read_url, "a URL, such as https://monitoring.example.com", shown=False),
}
"""The forms that the table of variables names; any other text is taken as it is."""
