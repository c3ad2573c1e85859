"""The command line of `fdbserver`: the options that matter here, and all others, which it takes and leaves alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.foundationdb.wire import Tls, certificates
from stateward.simulation.foundationdb.addresses import host, is_process, port

KINDS = frozenset(
    {
        "unset",
        "storage",
        "transaction",
        "log",
        "stateless",
        "coordinator",
        "cluster_controller",
        "commit_proxy",
        "grv_proxy",
        "resolution",
        "master",
        "test",
    }
)
SHORT = {
    "-p": "public_address",
    "-l": "listen_address",
    "-C": "cluster_file",
    "-d": "datadir",
    "-c": "class",
    "-L": "logdir",
    "-i": "locality_machineid",
    "-z": "locality_zoneid",
    "-m": "memory",
}


REFRESH = 43200.0
"""Seconds, as the real one has them by default."""


class UsageError(Exception):
    """A command line that `fdbserver` would not take."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a process was told."""

    address: str
    listen: str
    kind: str
    data: Path
    cluster_file: Path
    locality: dict[str, str]
    command_line: str
    tls: Tls | None = None
    refresh: float = REFRESH
    """Seconds after which it looks whether its certificates have changed."""


def named(words: Sequence[str]) -> dict[str, str]:
    """Return the options by name, with `_` for `-`; each has a value, behind `=` or as the next word."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            raise UsageError(f"ERROR: unknown argument `{word}'")
        if not equals:
            if not rest:
                raise UsageError(f"ERROR: option `{word}' needs a value")
            value = rest.pop(0)
        key = SHORT.get(name) or name.removeprefix("--").replace("-", "_")
        found[key] = value
    return found


def parse(words: Sequence[str], program: str = "/usr/bin/fdbserver") -> Options:
    """Return the options; raises UsageError."""
    found = named(words)
    address = found.get("public_address", "")
    if not is_process(address):
        raise UsageError(f"ERROR: public address `{address}' is no address")
    tls = certificates(found) if address.endswith(":tls") else None
    if address.endswith(":tls") and (tls is None or not tls.certificate):
        raise UsageError(f"ERROR: there are no certificates for the address `{address}'")
    listen = found.get("listen_address", "public")
    listen = address if listen == "public" else listen
    if not is_process(listen) or port(listen) != port(address):
        raise UsageError(f"ERROR: listen address `{listen}' does not go with {address}")
    kind = found.get("class", "unset")
    if kind not in KINDS:
        raise UsageError(f"ERROR: unknown process class `{kind}'")
    for needed in ("datadir", "cluster_file"):
        if not found.get(needed):
            raise UsageError(f"ERROR: --{needed} is needed")
    prefix = "locality_"
    locality = {name.removeprefix(prefix): value for name, value in found.items() if name.startswith(prefix)}
    locality.setdefault("zoneid", host(address))
    locality.setdefault("machineid", locality["zoneid"])
    data, file = Path(found["datadir"]), Path(found["cluster_file"])
    refresh = float(found.get("knob_tls_cert_refresh_delay_seconds", REFRESH))
    return Options(address, listen, kind, data, file, locality, " ".join([program, *words]), tls, refresh)
