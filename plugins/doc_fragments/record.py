# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options for the place of the record; their specification is `RECORD` in module_utils/common/arguments."""

from __future__ import annotations


class ModuleDocFragment:
    """The options `record_kept_in` and `record_path`."""

    DOCUMENTATION = r"""
options:
  record_kept_in:
    description:
      - The place of the record. V(kubernetes) is a ConfigMap in the namespace, V(file) a file on the controller, and
        with V(none) no record is kept.
      - The default is V(kubernetes) if there is a namespace, else V(file).
    type: str
    choices: [kubernetes, file, none]
  record_path:
    description:
      - With O(record_kept_in=file), the folder of the records. It is made if it is missing, and only its user can read
        its files.
      - If there is a namespace, its records are in a folder of its name there.
      - Each version of a record is a file of its own, C(NAME.NUMBER.json), of which the last two are kept.
    type: path
    default: ~/.local/state/stateful.upgrade
"""
