"""The settings of the keystore: from the named Secrets into the configuration of every member.

They are files of the configuration Secret. So a process starts with exactly the settings that were written for it,
because its agent confirms their checksum. The start script builds the keystore from them. Each file records the source
of its setting: while a Secret is missing or unreadable, the members keep their current settings.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from stateward.api.kinds.additions.keystore import SecureSettings
from stateward.packages.restarts.dependencies import SECRET, Dependency
from stateward.packages.restarts.digests import Key, label
from stateward.planning.model.referenced_data import KEPT

PREFIX = "stateward-keystore."
"""Prefix of the file name of a setting."""
SEAL = "stateward-keystore-seal"
"""A file with unguessable content.

Without it the checksum of a configuration would allow short passwords to be guessed offline.
"""
INPUT = KEPT
"""The input for the requested settings, and the name prefix of the input of each setting."""


class Setting(Struct, frozen=True):
    """A setting and its source: a key of a Secret."""

    name: str
    source: Dependency
    value: bytes

    @property
    def input(self) -> str:
        """The name of its input."""
        return input_of(self.name, self.source)


def input_of(name: str, source: Dependency) -> str:
    """Return the input name of a setting; it contains the Secret and the key."""
    renamed = "" if name == source.key else f" as {name}"
    return f"{INPUT}/{label(source)}{renamed}"


def sources(asked: Sequence[SecureSettings]) -> frozenset[Dependency]:
    """Return the Secrets and keys that the keystore reads."""
    whole = {Dependency(SECRET, each.secret_name) for each in asked if each.entries is None}
    keys = {Dependency(SECRET, each.secret_name, entry.key) for each in asked for entry in each.entries or ()}
    return frozenset(whole | keys)


def settings(asked: SecureSettings, data: Mapping[str, bytes]) -> Iterator[Setting]:
    """Yield the settings of one Secret; missing keys are skipped."""
    if asked.entries is None:
        for key, value in sorted(data.items()):
            yield Setting(key, Dependency(SECRET, asked.secret_name, key), value)
        return
    for entry in asked.entries:
        if entry.key in data:
            name = entry.setting or entry.key
            yield Setting(name, Dependency(SECRET, asked.secret_name, entry.key), data[entry.key])


def missing_keys(asked: SecureSettings, found: Sequence[Setting]) -> tuple[str, ...]:
    """Return the keys that the spec names and the Secret lacks."""
    there = {setting.source.key for setting in found}
    return tuple(entry.key for entry in asked.entries or () if entry.key not in there)


def files(found: Sequence[Setting], key: Key) -> dict[str, str]:
    """Return the files of the settings; the last of several settings with one name applies."""
    latest = {setting.name: setting for setting in found}
    made = {f"{PREFIX}{name}": _file(setting) for name, setting in sorted(latest.items())}
    return {**made, SEAL: f"{key.digest(b'seal', *(text.encode() for text in made.values()))}\n"}


def _file(setting: Setting) -> str:
    """Return the value in one line of base64, then its source."""
    return f"{base64.b64encode(setting.value).decode()}\n{setting.source.name}\n{setting.source.key}\n"


def read(written: Mapping[str, str]) -> tuple[Setting, ...]:
    """Return the settings in the files of a configuration; other and malformed files are skipped."""
    found: list[Setting] = []
    for name, text in sorted(written.items()):
        parts = text.splitlines()
        if not name.startswith(PREFIX) or len(parts) < 3:
            continue
        try:
            value = base64.b64decode(parts[0], validate=True)
        except binascii.Error:
            continue
        found.append(Setting(name.removeprefix(PREFIX), Dependency(SECRET, parts[1], parts[2]), value))
    return tuple(found)


def inputs(asked: Sequence[SecureSettings] | None, data: Mapping[str, str] | None) -> dict[str, str]:
    """Return the digests of the requested settings from the known digests of a cluster's data."""
    wanted = {f"{INPUT}/{label(source)}" for source in sources(asked or ())}
    known = {name: digest for name, digest in (data or {}).items() if name.startswith(f"{INPUT}/")}
    return {
        name: digest
        for name, digest in known.items()
        if name.partition(" ")[0] in wanted or f"{name.partition(':')[0]}:" in wanted
    }


def summary(asked: Sequence[SecureSettings]) -> list[tuple[str, str]]:
    """Return the requested settings in a canonical order: pairs of a source and the name of a setting."""
    named = ((each.secret_name, entry) for each in asked for entry in each.entries or ())
    pairs = [(label(Dependency(SECRET, name, entry.key)), entry.setting or entry.key) for name, entry in named]
    whole = [(label(Dependency(SECRET, each.secret_name)), "") for each in asked if each.entries is None]
    return sorted([*pairs, *whole])
