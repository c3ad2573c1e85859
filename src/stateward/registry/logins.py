"""A user's credentials for a registry, from the file that `docker login` and similar programs write.

The file is in the folder named by `DOCKER_CONFIG`, else `~/.docker/config.json`. Credential helpers (`credHelpers`,
`credsStore`) are not called.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec


class BadLogins(ValueError):  # noqa: N818 - says what it is
    """A file of logins that cannot be read."""


@dataclass(frozen=True, slots=True, repr=False)
class Login:
    """A name and a password; never shown."""

    name: str
    password: str

    @property
    def header(self) -> str:
        """The value of the header `Authorization`."""
        return "Basic " + base64.b64encode(f"{self.name}:{self.password}".encode()).decode()


class _Entry(msgspec.Struct):
    auth: str = ""
    username: str = ""
    password: str = ""


class _File(msgspec.Struct):
    auths: dict[str, _Entry] = {}


def login_for(host: str, environment: Mapping[str, str]) -> Login | None:
    """Return the user's credentials for a registry; None without any. Raises BadLogins, OSError."""
    folder = environment.get("DOCKER_CONFIG")
    path = (Path(folder) if folder else Path(environment.get("HOME", "/")) / ".docker") / "config.json"
    if not path.is_file():
        return None
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_File).auths
        entry = next((found[name] for name in (host, f"https://{host}", f"http://{host}") if name in found), None)
        return None if entry is None else _login(entry)
    except (ValueError, RecursionError) as error:
        raise BadLogins(f"{path}: cannot be read: {error}") from error


def _login(entry: _Entry) -> Login | None:
    if entry.username:
        return Login(entry.username, entry.password)
    name, colon, password = base64.b64decode(entry.auth).decode().partition(":")
    return Login(name, password) if colon else None
