"""The TLS of the service, without a listener: a session that a caller brings again."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from extensions.cluster_api.cluster_api_extension.tls import ServerTls
from tests.unit.cluster_api.test_service import AUTHORITY, OTHER_AUTHORITY, client_tls, tls_files


def connected(tls: ServerTls, context: ssl.SSLContext, session: ssl.SSLSession | None = None) -> ssl.SSLObject:
    """The side of the caller of a connection that has ended.

    Raises:
        SSLError: one side refuses the other.
    """
    to_server, to_caller = ssl.MemoryBIO(), ssl.MemoryBIO()
    caller = context.wrap_bio(to_caller, to_server, server_hostname="127.0.0.1", session=session)
    server = tls.context.wrap_bio(to_server, to_caller, server_side=True)
    for side in 3 * (caller, server):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    for side in (caller, server, caller):
        # The server forgets the session of a connection that only breaks off.
        with suppress(ssl.SSLWantReadError):
            side.unwrap()
    return caller


def test_a_session_of_a_caller_of_the_former_authority_is_not_resumed(tmp_path: Path) -> None:
    tls = ServerTls(tls_files(tmp_path))
    context = client_tls(tmp_path, AUTHORITY.issue("cluster-api-managers"))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    session = connected(tls, context).session
    assert session is not None
    assert connected(tls, context, session).session_reused, "otherwise this test shows nothing"
    (tmp_path / "ca.crt").write_bytes(OTHER_AUTHORITY.certificate)
    assert tls.renew()
    with pytest.raises(ssl.SSLError):
        connected(tls, context, session)
