"""The place in which the records of a task are kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...common.errors import refusal
from ...kubernetes.client import connect
from .record_files import Files
from .record_keeping import Nowhere, RecordStore
from .record_store import ConfigMaps


def store_of(params: Mapping[str, Any]) -> RecordStore:
    """The store in which the records of these arguments are kept. No request is made yet.

    Raises:
        Refusal: the connection options cannot be used, or the folder is below a home that is not known.
    """
    kept_in = params["record_kept_in"] or ("kubernetes" if params["namespace"] else "file")
    if kept_in == "none":
        return Nowhere()
    if kept_in == "file":
        # A task that names a namespace sees only its records, as when they are kept in that namespace.
        return Files(_folder(params["record_path"]) / (params["namespace"] or ""))
    return ConfigMaps(connect(params["kubernetes"]), params["namespace"])


def _folder(path: str) -> Path:
    folder = os.path.expanduser(path)
    if not folder.startswith("~"):
        return Path(folder)
    raise refusal(
        "record_file_unusable",
        f"The folder of the records is {folder}, and it is not known which home that is.",
        "Set HOME, or give a whole path with record_path, or keep no record (record_kept_in=none).",
    )
