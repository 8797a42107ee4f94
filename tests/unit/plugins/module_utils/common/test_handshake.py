"""A server that ends in the middle of a TLS handshake is out of reach, which passes; its trust is not in question."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import HANDSHAKE_BROKEN_OFF, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as of_kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe import client as of_opensearch


@contextlib.contextmanager
def hanging_up() -> Iterator[str]:
    """The https address of a server that reads a greeting and hangs up, again and again."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _address = door.accept()
                    connection.recv(1 << 16)
                    connection.close()

        server = threading.Thread(target=serve, daemon=True)
        server.start()
        try:
            yield f"https://127.0.0.1:{door.getsockname()[1]}"
        finally:
            door.shutdown(socket.SHUT_RDWR)
            server.join()


ASKED: dict[str, Callable[[str], object]] = {
    "kubernetes": lambda url: of_kubernetes.connect({"host": url}).get("/api/v1/namespaces/search/pods/data-0"),
    "opensearch": lambda url: of_opensearch.connect({"hosts": [url]}).get("/_cluster/health"),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_who_hangs_up_is_out_of_reach(ask: Callable[[str], object]) -> None:
    with hanging_up() as url, pytest.raises(Unreachable, match=HANDSHAKE_BROKEN_OFF):
        ask(url)
