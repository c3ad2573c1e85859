"""Queries the database in the same pod, to see whether it serves."""

import base64
import re
import socket
import ssl
from pathlib import Path
from typing import NamedTuple

from stateward.agent.io import files
from stateward.agent.io.loop import seconds_from_now
from stateward.agent.io.stream import Stream

_URL = re.compile(r"(https?)://(\[[0-9A-Fa-f:.]+\]|[0-9.]+|localhost):([0-9]{1,5})(/[!-~]*)")
_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})[ \r]")


class Url(NamedTuple):
    """The address to query. Numeric addresses only: a name lookup would block everything else in the agent."""

    secure: bool
    host: str
    port: int
    path: str


def parse(text: str) -> Url:
    """Parse a URL. Raise `ValueError` with the accepted form."""
    found = _URL.fullmatch(text.strip())
    if found is None or int(found[3]) > 65535:
        raise ValueError(f"{text!r} is not http(s)://ADDRESS:PORT/PATH with a numeric address or localhost")
    host = "127.0.0.1" if found[2] == "localhost" else found[2].strip("[]")
    return Url(found[1] == "https", host, int(found[3]), found[4])


def resolve(setting: str, configuration: Path) -> Url:
    """Return the URL of a setting; `@NAME` is the content of a configuration file. Raise as `parse` does.

    Enabling TLS changes the configuration within one pod with fixed arguments: the URL changes from `http` to `https`.
    """
    if setting.startswith("@"):
        setting = files.secret(configuration / setting[1:]).decode()
    return parse(setting)


async def ask(url: Url, credentials: Path | None, seconds: float) -> tuple[bool, str]:
    """Return whether the database answered with 200 to 399, as the kubelet counts it, and its answer."""
    deadline = seconds_from_now(seconds)
    family = socket.AF_INET6 if ":" in url.host else socket.AF_INET
    try:
        stream = Stream(socket.socket(family, socket.SOCK_STREAM))
    except OSError as error:  # no descriptor or no memory left, for now
        return False, str(error)
    try:
        await stream.connect((url.host, url.port), deadline)
        if url.secure:
            await stream.secure(_unverified(), deadline, server=False)
        await stream.send(_request(url, credentials), deadline)
        data = b""
        while b"\r\n" not in data and len(data) < 4096 and (more := await stream.receive(deadline)):
            data += more
    except TimeoutError:
        return False, f"no answer within {seconds:g} s"
    except (OSError, ValueError) as error:
        return False, str(error)
    finally:
        stream.close()
    status = _STATUS.match(data)
    if status is None:
        return False, "the answer is not HTTP"
    return 200 <= int(status[1]) < 400, f"status {int(status[1])}"


def _request(url: Url, credentials: Path | None) -> bytes:
    host = f"[{url.host}]" if ":" in url.host else url.host
    lines = [f"GET {url.path} HTTP/1.1", f"Host: {host}:{url.port}", "Connection: close", "User-Agent: stateward-agent"]
    if credentials is not None and credentials.exists():
        lines.append("Authorization: Basic " + base64.b64encode(files.secret(credentials)).decode())
    return "\r\n".join([*lines, "", ""]).encode()


def _unverified() -> ssl.SSLContext:
    """Return a context that accepts any certificate: only the same pod can listen on this address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
