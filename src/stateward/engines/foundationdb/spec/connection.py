"""Cluster files: `description:id@address,address,…`, and addresses with or without TLS: names, IPv4 and IPv6."""

import re
from dataclasses import dataclass

_FORM = re.compile(r"([A-Za-z0-9_]+):([A-Za-z0-9]+)@([^\s@]+)", re.ASCII)
_V4 = re.compile(r"([0-9.]+):([0-9]{1,5})((?::tls)?)", re.ASCII)
_NAME = re.compile(r"((?=[^:]*[A-Za-z])[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*):([0-9]{1,5})((?::tls)?)", re.ASCII)
_KEY = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z0-9_]+:[A-Za-z0-9]+@(?=[^\s@])", re.ASCII)
_V6 = re.compile(r"\[([0-9A-Fa-f:.]+)\]:([0-9]{1,5})((?::tls)?)", re.ASCII)


class ConnectionStringError(ValueError):
    """A text that is not a valid cluster file."""


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """The address of a process."""

    host: str
    port: int
    tls: bool = False

    def __str__(self) -> str:
        """Return the database's text form."""
        return f"{self.endpoint}{':tls' if self.tls else ''}"

    @property
    def endpoint(self) -> str:
        """Return it without `:tls`: `exclude`, `include` and `kill` accept no other form."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ConnectionString:
    """The content of a cluster file.

    The description never changes; the id changes with the coordinators, so it does not identify the database.
    """

    description: str
    generation: str
    coordinators: tuple[Address, ...]

    def __str__(self) -> str:
        """Return the database's text form."""
        return f"{self.description}:{self.generation}@{','.join(map(str, self.coordinators))}"


def without_keys(text: str) -> str:
    """Return a text that is safe to show: cluster files in it are reduced to their addresses."""
    return _KEY.sub("(key)@", text)


def parse_address(text: str) -> Address:
    """Return an address such as `10.1.2.3:4500:tls` or `db-0.db.default.svc:4500`; raise ConnectionStringError.

    The database writes `(fromHostname)` behind addresses that it has resolved from a name.
    """
    bare = text.strip().removesuffix("(fromHostname)")
    match = _V4.fullmatch(bare) or _V6.fullmatch(bare) or _NAME.fullmatch(bare)
    if match is None or int(match[2]) > 65535:
        raise ConnectionStringError(f"{text[:60]!r} is not the address of a process")
    return Address(match[1], int(match[2]), bool(match[3]))


def parse_connection_string(text: str) -> ConnectionString:
    """Return the content of a cluster file without comments and empty lines; raise ConnectionStringError."""
    lines = [line.strip() for line in text.splitlines()]
    content = [line for line in lines if line and not line.startswith("#")]
    match = _FORM.fullmatch(content[0]) if len(content) == 1 else None
    if match is None:
        # The message omits the text: it may be nearly a cluster file, which grants access, and messages are shown.
        raise ConnectionStringError("the content is not a cluster file")
    addresses = tuple(parse_address(part) for part in match[3].split(","))
    if len(set(addresses)) != len(addresses):
        raise ConnectionStringError("a coordinator is named twice")
    return ConnectionString(match[1], match[2], addresses)
