"""Addresses and connection strings: a parser independent of the operator's, so that both do not share a bug."""

import re
from dataclasses import dataclass

_ADDRESS = re.compile(r"(\d{1,3}(?:\.\d{1,3}){3}|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?(:tls)?", re.ASCII)
_NAME = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?):(\d{1,5})(:tls)?", re.ASCII)
_STRING = re.compile(r"([A-Za-z0-9_]+):([A-Za-z0-9]+)@(\S+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection string: the addresses of the coordinators."""

    description: str
    generation: str
    coordinators: tuple[str, ...]

    @property
    def key(self) -> str:
        """The key under which coordinators store this generation."""
        return f"{self.description}:{self.generation}"

    def __str__(self) -> str:
        """Return it in the format of a cluster file."""
        return f"{self.key}@{','.join(self.coordinators)}"


def connection(text: str) -> Connection:
    """Return the connection string in a cluster file; raises ValueError."""
    lines = [line.strip() for line in text.splitlines()]
    content = [line for line in lines if line and not line.startswith("#")]
    match = _STRING.fullmatch(content[0]) if len(content) == 1 else None
    if match is None:
        raise ValueError("the cluster file cannot be parsed")
    addresses = tuple(match[3].split(","))
    if not all(is_coordinator(address) for address in addresses):
        raise ValueError("the cluster file names a coordinator without an address and a port")
    return Connection(match[1], match[2], addresses)


def is_process(text: str) -> bool:
    """Return whether a text is the address of a process, with its port, with or without `:tls`."""
    match = _ADDRESS.fullmatch(text)
    return match is not None and match[2] is not None and 0 < int(match[2]) < 65536


def is_coordinator(text: str) -> bool:
    """Return whether a text can name a coordinator: an address, or a host name with a port."""
    match = _NAME.fullmatch(text)
    return is_process(text) or (match is not None and 0 < int(match[2]) < 65536)


def is_exclusion(text: str) -> bool:
    """Return whether a text can be excluded: a host, or a host and port, but never with `:tls`."""
    match = _ADDRESS.fullmatch(text)
    return match is not None and match[3] is None


def endpoint(address: str) -> str:
    """Return an address without `:tls`."""
    return address.removesuffix(":tls")


def host(address: str) -> str:
    """Return the host of a process's address."""
    return endpoint(address).rpartition(":")[0]


def port(address: str) -> int:
    """Return the port of a process's address."""
    return int(endpoint(address).rpartition(":")[2])
