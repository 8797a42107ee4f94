"""The configuration of a pool as a Secret holds it: one key for each member. Observations. Pure: no client.

While a run is under way, the key `<member>.previous` holds what the member ran before. No pod has such a name, since
those of a StatefulSet end with a number. It is in the same Secret so that one request writes a content together with
the one that puts it back. Contents are in no text of these objects.

It is no annotation, since these end at 256 KiB and another object could be lost alone. The first content that was
replaced is kept until the run completes, so an interrupted run of several attempts goes back to the one that worked
last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

POOL = "upgrade.stateful/configuration"
"""The label of a configuration Secret. Its value is the name of the pool."""
UNUSED_SINCE = "upgrade.stateful/unused-since"
"""The annotation of a configuration Secret that no pod uses, with the time when that was first seen."""
SHOWN = 12
"""The digits of a checksum that a message shows."""
PREVIOUS = ".previous"
"""The end of the keys of contents that were replaced."""


@dataclass(frozen=True)
class ConfigurationSecret:
    """One Secret with configurations at one time."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    pool: str
    """The pool in its label; empty if it has none, so that it is someone else's."""
    immutable: bool
    unused_since: str
    """The time in its annotation; empty if it has none."""
    data: Mapping[str, bytes] = field(repr=False)
    """All its keys with their contents."""

    @property
    def contents(self) -> dict[str, bytes]:
        """The present content of each member."""
        return {key: content for key, content in self.data.items() if not key.endswith(PREVIOUS)}

    @property
    def previous(self) -> dict[str, bytes]:
        """The content that each member had before this run, where that is another one."""
        return {key[: -len(PREVIOUS)]: content for key, content in self.data.items() if key.endswith(PREVIOUS)}
