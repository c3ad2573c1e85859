"""The TLS context of the API: what a client without a token can make it keep."""

import contextlib
import ssl
from pathlib import Path

import pytest

from stateward.agent.io.files import Certificate
from tests.unit.agent.authority import Authority


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_handshake_leaves_no_session_in_the_agents_memory(
    tmp_path: Path, authority: Authority, version: ssl.TLSVersion
) -> None:
    """Each takes a kilobyte for hours, and a client needs no token for a handshake."""
    server = Certificate(*authority.issue(tmp_path), None).context()
    client = ssl.create_default_context(cafile=str(authority.path))
    client.minimum_version = client.maximum_version = version
    client.options |= ssl.OP_NO_TICKET
    served = shake(server, client)
    assert server.session_stats()["number"] == 0
    assert served == (version is ssl.TLSVersion.TLSv1_3)


def shake(server: ssl.SSLContext, client: ssl.SSLContext) -> bool:
    """Return whether a handshake in memory succeeds; the server then closes as after an answer."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(down, up, server_hostname="127.0.0.1"),
        server.wrap_bio(up, down, server_side=True),
    ]
    for _ in range(4):
        for side in sides:
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError:
                return False
    with contextlib.suppress(ssl.SSLWantReadError):
        sides[1].unwrap()
    return True
