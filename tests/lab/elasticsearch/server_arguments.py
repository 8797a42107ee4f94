"""The stream that the launcher of Elasticsearch 8 writes to the standard input of the server.

Read from what the launchers of 8.18.0 and 8.19.4 write (ServerArgs, KeyStoreWrapper and Settings of the server source).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_KEYSTORE = "org.elasticsearch.common.settings.KeyStoreWrapper"
_KEYSTORE_FORMAT = 7
_SEED = b"lab-of-stateful-upgrade"
_TEXT, _LIST, _NO = b"\x00", b"\x07", b"\x00"


def server_arguments(settings: Mapping[str, Any], configuration: Path, logs: Path) -> bytes:
    """Gives the arguments of a server in the foreground, with a keystore that holds nothing but its seed."""
    flags = _NO * 3  # no daemon, not quiet, no file for its process id
    written = b"".join(_text(name) + _value(value) for name, value in sorted(settings.items()))
    return b"".join(
        (
            flags,
            _text(_KEYSTORE),
            _keystore(),
            _number(len(settings)),
            written,
            _text(str(configuration)),
            _text(str(logs)),
        )
    )


def _keystore() -> bytes:
    """A keystore that was never on a disk: no password, no encrypted data, one entry with its checksum, not closed."""
    entry = _text("keystore.seed") + _bytes(_SEED) + _bytes(hashlib.sha256(_SEED).digest())
    return _KEYSTORE_FORMAT.to_bytes(4, "big") + _NO * 2 + _number(1) + entry + _NO


def _value(value: Any) -> bytes:
    if isinstance(value, (list, tuple)):
        return _LIST + _number(len(value)) + b"".join(_value(each) for each in value)
    return _TEXT + _text(str(value).lower() if isinstance(value, bool) else str(value))


def _text(text: str) -> bytes:
    """A text, whose length is counted in characters; all that the lab writes is ASCII."""
    return _number(len(text)) + text.encode("ascii")


def _bytes(data: bytes) -> bytes:
    return _number(len(data)) + data


def _number(number: int) -> bytes:
    """A number in as few bytes as it needs, seven bits in each, the lowest first."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*written, number))
