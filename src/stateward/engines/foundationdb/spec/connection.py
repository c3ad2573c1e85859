"""Cluster files: `description:id@address,address,…`, and addresses with or without TLS: names, IPv4 and IPv6."""

import re
from dataclasses import dataclass

_FORM = re.compile(r"([A-Za-z0-9_]+):([A-Za-z0-9]+)@([^\s@]+)", re.ASCII)
_V4 = re.compile(r"([0-9.]+):([0-9]{1,5})((?::tls)?)", re.ASCII)
_NAME = re.compile(r"((?=[^:]*[A-Za-z])[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*):([0-9]{1,5})((?::tls)?)", re.ASCII)
_KEY = re.compile(r"[A-Za-z0-9_]+:[A-Za-z0-9]+@(?=[^\s@])", re.ASCII)
_V6 = re.compile(r"\[([0-9A-Fa-f:.]+)\]:([0-9]{1,5})((?::tls)?)", re.ASCII)


class ConnectionStringError(ValueError):
    """A text that is no cluster file."""


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """Where a process answers."""

    host: str
    port: int
    tls: bool = False

    def __str__(self) -> str:
        """Write it as the database does."""
        return f"{self.endpoint}{':tls' if self.tls else ''}"

    @property
    def endpoint(self) -> str:
        """Return it without what speaks of TLS: `exclude`, `include` and `kill` take no other form."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ConnectionString:
    """What a cluster file holds.

    The description stays for ever; the id changes whenever coordinators do, so it says nothing of who the database is.
    """

    description: str
    generation: str
    coordinators: tuple[Address, ...]

    def __str__(self) -> str:
        """Write it as the database does."""
        return f"{self.description}:{self.generation}@{','.join(map(str, self.coordinators))}"


def without_keys(text: str) -> str:
    """Return a text as it may be told: of cluster files in it only the addresses."""
    return _KEY.sub("(key)@", text)


def parse_address(text: str) -> Address:
    """Return an address such as `10.1.2.3:4500:tls` or `db-0.db.default.svc:4500`; raises ConnectionStringError.

    The database writes `(fromHostname)` behind addresses that it has found by a name.
    """
    bare = text.strip().removesuffix("(fromHostname)")
    match = _V4.fullmatch(bare) or _V6.fullmatch(bare) or _NAME.fullmatch(bare)
    if match is None or int(match[2]) > 65535:
        raise ConnectionStringError(f"{text[:60]!r} is not the address of a process")
    return Address(match[1], int(match[2]), bool(match[3]))


def parse_connection_string(text: str) -> ConnectionString:
    """Return what a cluster file says; comments and empty lines are left out. Raises ConnectionStringError."""
    lines = [line.strip() for line in text.splitlines()]
    content = [line for line in lines if line and not line.startswith("#")]
    match = _FORM.fullmatch(content[0]) if len(content) == 1 else None
    if match is None:
        # Not with the text: what is almost a cluster file lets in, too, and errors are told.
        raise ConnectionStringError("the content is not a cluster file")
    addresses = tuple(parse_address(part) for part in match[3].split(","))
    if len(set(addresses)) != len(addresses):
        raise ConnectionStringError("a coordinator is named twice")
    return ConnectionString(match[1], match[2], addresses)
