# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file with the custom statistics of a run, for pipelines that go on by them."""

from __future__ import annotations

DOCUMENTATION = r"""
name: stats_file
type: notification
short_description: Writes the custom statistics of a run into a file
version_added: 0.1.0
author: the stateful.upgrade authors (@stateful-upgrade)
description:
  - Writes the custom statistics of a run into a file as JSON when the run ends, also when it has failed.
  - A run of this collection says there in C(upgrade_state) whether it is C(done), C(waiting) or C(refused). So a
    pipeline can distinguish the first two, which have the exit code 0.
  - Whether any task has changed anything stands there in C(upgrade_changed).
  - A plan says there in C(upgrade_confirm) the digest to which a run has to consent.
  - The file is emptied when the run begins. It stays empty if the run ends before its first play.
  - Kubernetes keeps only 4096 bytes of C(/dev/termination-log). What is written there is shorter than that, since long
    texts and lists are cut; digests, states and names stay whole.
options:
  path:
    description: The file. In a pod, C(/dev/termination-log) brings its content into the status of the pod.
    type: path
    required: true
    env:
      - name: STATEFUL_UPGRADE_STATS_FILE
    ini:
      - section: callback_stats_file
        key: path
requirements:
  - enable in configuration (C(ANSIBLE_CALLBACKS_ENABLED=stateful.upgrade.stats_file))
"""

import json
from collections.abc import Mapping
from typing import Any

from ansible.plugins.callback import CallbackBase

WHOLE_RUN = "_run"
"""The name under which ansible-core keeps the statistics that belong to no host."""
TERMINATION_LOG = "/dev/termination-log"
LONGEST = 4000
"""Bytes of it that are used: Kubernetes cuts the rest of 4096, and a cut JSON cannot be read."""
_WHOLE = ("upgrade_state", "upgrade_changed", "upgrade_confirm", "upgrade_record", "upgrade_fleet_confirm")
"""What is compared with other things, so it is of no use if it is cut."""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no type hints
    """Keeps one file. A file that cannot be written is reported, and the run continues."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "stateful.upgrade.stats_file"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_start(self, playbook: Any) -> None:
        """No file of an earlier run is taken for that of this one."""
        self._write("")

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """The statistics of the whole run, one to a line."""
        said = {"upgrade_changed": any(stats.changed.values()), **stats.custom.get(WHOLE_RUN, {})}
        self._write(fitting(said) if self.get_option("path") == TERMINATION_LOG else _json(said))

    def _write(self, text: str) -> None:
        path = self.get_option("path")
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            self._display.warning(
                f"The custom statistics cannot be written to {path}: {error.strerror}. Set STATEFUL_UPGRADE_STATS_FILE"
                " to a file in a folder that exists and may be written."
            )


def fitting(said: Mapping[str, Any]) -> str:
    """The statistics as JSON of at most `LONGEST` bytes. Each try cuts texts and lists shorter than the one before."""
    text, length = _json(said), LONGEST
    while len(text) > LONGEST and length > 20:
        length //= 2
        text = _json({name: each if name in _WHOLE else _cut(each, length) for name, each in said.items()})
    return text if len(text) <= LONGEST else _json({name: said[name] for name in _WHOLE if name in said})


def _cut(value: Any, length: int) -> Any:
    """A text of at most so many bytes of JSON, or as many entries of a list as have room in them; the first one is cut.

    Anything else stays as it is, or is null if it is longer.
    """
    if isinstance(value, str):
        if len(json.dumps(value)) <= length:
            return value
        kept = value[:length]
        while len(json.dumps(kept)) > length - len(json.dumps("…")):
            kept = kept[: len(kept) * 9 // 10]
        return f"{kept}…"
    if not isinstance(value, list | tuple):
        return value if len(json.dumps(value)) <= length else None
    kept_entries, room = list[Any](), length
    for each in value:
        entry = each if kept_entries else _cut(each, length)
        room -= len(json.dumps(entry))
        if room < 0 and kept_entries:
            break
        kept_entries.append(entry)
    return kept_entries


def _json(said: Mapping[str, Any]) -> str:
    """One statistic to a line. It is ASCII, so each character is a byte."""
    return json.dumps(said, indent=1, sort_keys=True) + "\n"
