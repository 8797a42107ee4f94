"""The TLS of the service: certificates and authorities that are replaced while it runs."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from extensions.cluster_api.cluster_api_extension.policy import ExternalRule
from extensions.cluster_api.cluster_api_extension.serving import keep_house
from extensions.cluster_api.cluster_api_extension.store import Store
from extensions.cluster_api.cluster_api_extension.tls import ServerTls
from tests.unit.cluster_api.management import SERVICE, DirectApi, Management
from tests.unit.cluster_api.manifests import NAMESPACE
from tests.unit.cluster_api.test_service import (
    AUTHORITY,
    OTHER_AUTHORITY,
    Caller,
    client_tls,
    served,
    tls_files,
    written,
)


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


def test_a_renewed_certificate_is_shown_to_new_connections(tmp_path: Path) -> None:
    async def body(caller: Caller, _management: Management) -> None:
        assert not caller.tls.renew()
        written(tmp_path, "server", AUTHORITY.issue("renewed", ["127.0.0.1"]))
        assert caller.tls.renew()
        port = int(caller.url.rpartition(":")[2])
        context = client_tls(tmp_path, AUTHORITY.issue("cluster-api-managers"))
        _reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        subject = writer.get_extra_info("peercert")["subject"]
        assert dict(each[0] for each in subject)["commonName"] == "renewed"
        writer.close()

    served(tmp_path, body)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_an_authority_that_was_replaced_is_no_longer_trusted(version: ssl.TLSVersion, tmp_path: Path) -> None:
    async def body(caller: Caller, _management: Management) -> None:
        before, after = (
            client_tls(tmp_path, each.issue("cluster-api-managers")) for each in (AUTHORITY, OTHER_AUTHORITY)
        )
        for context in (before, after):
            context.maximum_version = version

        async def asked_with(context: ssl.SSLContext) -> bool:
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
                try:
                    await replace(caller, session=session).ask("canupdatemachine")
                except (aiohttp.ClientError, OSError):
                    return False
            return True

        assert (await asked_with(before), await asked_with(after)) == (True, False)
        (tmp_path / "ca.crt").write_bytes(OTHER_AUTHORITY.certificate)
        assert caller.tls.renew()
        assert (await asked_with(before), await asked_with(after)) == (False, True)

    served(tmp_path, body)


def test_a_connection_that_was_open_before_its_authority_was_replaced_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def one_look(tls: ServerTls, management: Management, server: web.Server) -> None:
        stop = asyncio.Event()

        def renew() -> bool:
            stop.set()
            return ServerTls.renew(tls)

        monkeypatch.setattr(tls, "renew", renew)
        store = Store(DirectApi(management, SERVICE), NAMESPACE)
        await keep_house(tls, store, stop, ExternalRule(), server, pause=0.001)

    async def body(caller: Caller, management: Management) -> None:
        context = client_tls(tmp_path, AUTHORITY.issue("cluster-api-managers"))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
            kept = replace(caller, session=session)
            await kept.ask("canupdatemachine")
            await one_look(caller.tls, management, caller.server)
            await kept.ask("canupdatemachine")
            assert len(caller.server.connections) == 1, "otherwise this test shows nothing"
            (tmp_path / "ca.crt").write_bytes(OTHER_AUTHORITY.certificate)
            await one_look(caller.tls, management, caller.server)
            with pytest.raises((aiohttp.ClientError, OSError)):
                await kept.ask("canupdatemachine")

    served(tmp_path, body)
