"""The configurations and addresses that a user gives, with the contents of the files that are named."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..common.errors import Refusal, refusal
from ..opensearch.observe.addresses import after_of, is_https
from .judge.http_scheme import GivenAddresses

SOURCES = ("content", "file", "previous")
"""The options of which an entry has at most one."""


def configuration_in(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The entries of the option `configuration`, each with its content.

    A relative path starts where the playbook was started. A lookup in a variable would start in the folder of the
    collection's playbooks.

    Raises:
        Refusal: a file cannot be read, or an entry has two contents.
    """
    return [{**each, "content": _read(each)} if each.get("file") else each for each in params["configuration"] or []]


def given_addresses(options: Mapping[str, Any]) -> GivenAddresses:
    """The addresses of the servers before and after a change of their scheme, from the option `opensearch`."""
    after = after_of(options)
    before = "https" if is_https(options) else "http"
    if after is None:
        return GivenAddresses(before)
    return GivenAddresses(before, "https" if is_https(after) else "http", ", ".join(after["hosts"]))


def _read(entry: Mapping[str, Any]) -> str:
    pool, given = entry["pool"], [name for name in SOURCES if entry.get(name) not in (None, False, "")]
    if len(given) > 1:
        raise refusal(
            "configuration_or_previous",
            f"The configuration of pool {pool} is given by {' and '.join(given)}.",
            f"Give one of {', '.join(SOURCES)}.",
        )
    path = os.path.realpath(os.path.expanduser(str(entry["file"])))
    try:
        return Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise _unreadable(pool, path, error.strerror or type(error).__name__) from error
    except UnicodeDecodeError:
        raise _unreadable(pool, path, "it is no text in UTF-8") from None


def _unreadable(pool: str, path: str, cause: str) -> Refusal:
    return refusal(
        "configuration_file_unreadable",
        f"The file {path} with the configuration of pool {pool} cannot be read: {cause}.",
        "Correct the file or its path. A relative path starts in the folder where the playbook was started.",
    )
