"""Kubeconfig files: reading, merging, and precise errors.

The rules are kubectl's: KUBECONFIG lists files; missing ones are skipped; the first to define a name (or the current
context) wins; relative paths are relative to their file; inline data overrides a path.
"""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import field

from stateward.kube.objects.errors import ConfigError
from stateward.kube.objects.metadata import WireRecord


class KebabRecord(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """Base of a kubeconfig's records; its keys are in kebab-case."""


class ClusterEntry(KebabRecord, frozen=True):
    """A cluster: its address and its trust settings."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class ExecVariable(WireRecord):
    """One variable in a plugin's environment."""

    name: str
    value: str = ""


class ExecEntry(WireRecord):
    """An exec plugin: a command that prints credentials."""

    api_version: str = ""
    command: str = ""
    args: list[str] | None = None
    env: list[ExecVariable] | None = None
    provide_cluster_info: bool = False
    install_hint: str = ""
    interactive_mode: str = ""


class UserEntry(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A user: its credentials."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    exec_plugin: ExecEntry | None = field(default=None, name="exec")
    auth_provider: Any = None
    as_user: Any = field(default=None, name="as")
    as_uid: Any = None
    as_groups: Any = None
    as_user_extra: Any = None

    @property
    def unsupported(self) -> dict[str, str]:
        """The fields that are set and not supported, with what to do instead.

        Without impersonation, a user who limits himself by it would act with all his rights.
        """
        found = {"auth-provider": (self.auth_provider, "use the exec plugin that replaces it")}
        limits = {"as": self.as_user, "as-uid": self.as_uid, "as-groups": self.as_groups}
        for name, value in {**limits, "as-user-extra": self.as_user_extra}.items():
            found[name] = (value, "use a context whose user has only the rights that you want to use")
        return {name: advice for name, (value, advice) in found.items() if value}


class ContextEntry(KebabRecord, frozen=True):
    """A context: a user on a cluster, and a default namespace."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _Named(KebabRecord, frozen=True):
    name: str
    cluster: Any = None
    user: Any = None
    context: Any = None


class _Document(KebabRecord, frozen=True):
    current_context: str | None = None
    clusters: list[_Named] | None = None
    users: list[_Named] | None = None
    contexts: list[_Named] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A field in a file: for messages, and for paths relative to the file."""

    file: Path
    field: str

    def error(self, problem: str) -> ConfigError:
        """Create the error that names this place."""
        return ConfigError(f"{self.file}: {self.field}: {problem}")

    def read(self, name: str, *, data: str, path: str) -> bytes:
        """Return inline base64 data, otherwise the contents of a file, otherwise nothing; raise ConfigError."""
        if data:
            try:
                # kubectl accepts line breaks in it, as `base64` writes them.
                return base64.b64decode("".join(data.split()), validate=True)
            except ValueError as error:
                raise Place(self.file, f"{self.field}.{name}-data").error("is not base64") from error
        if not path:
            return b""
        try:
            return (self.file.parent / path).read_bytes()
        except OSError as error:
            where = Place(self.file, f"{self.field}.{name}")
            raise where.error(f"cannot read {self.file.parent / path}: {error.strerror}") from error


class Kubeconfig:
    """All files merged; each entry knows its file."""

    def __init__(self) -> None:
        self.current_context = ""
        self.files: list[Path] = []
        self._entries: dict[tuple[str, str], tuple[Place, Any]] = {}

    def add(self, file: Path, document: object) -> None:
        """Merge a file's contents; existing entries stay. Raise ConfigError."""
        try:
            content = msgspec.convert({} if document is None else document, type=_Document)
        except msgspec.ValidationError as error:
            raise ConfigError(f"{file}: is not a kubeconfig: {error}") from error
        self.files.append(file)
        self.current_context = self.current_context or content.current_context or ""
        sections = {"cluster": content.clusters, "user": content.users, "context": content.contexts}
        for section, entries in sections.items():
            for entry in entries or ():
                place = Place(file, f"{section}s[{entry.name}].{section}")
                self._entries.setdefault((section, entry.name), (place, getattr(entry, section)))

    @property
    def contexts(self) -> list[str]:
        """Return the names of all contexts."""
        return [name for section, name in self._entries if section == "context"]

    def cluster(self, name: str) -> tuple[Place, ClusterEntry]:
        """Return a cluster by name; raise ConfigError."""
        return self._entry("cluster", name, ClusterEntry)

    def user(self, name: str) -> tuple[Place, UserEntry]:
        """Return a user by name; raise ConfigError."""
        return self._entry("user", name, UserEntry)

    def context(self, name: str) -> tuple[Place, ContextEntry]:
        """Return a context by name; raise ConfigError."""
        return self._entry("context", name, ContextEntry)

    def _entry(self, section: str, name: str, view: type[Any]) -> tuple[Place, Any]:
        if (section, name) not in self._entries:
            known = ", ".join(sorted(entry for kind, entry in self._entries if kind == section)) or "none"
            files = ", ".join(str(file) for file in self.files) or "no kubeconfig file"
            raise ConfigError(f"there is no {section} {name!r} in {files}; there is: {known}")
        place, content = self._entries[section, name]
        try:
            return place, msgspec.convert(content or {}, type=view)
        except msgspec.ValidationError as error:
            raise place.error(str(error)) from error


def kubeconfig_paths(environment: Mapping[str, str]) -> list[Path]:
    """Return the files to read: those of KUBECONFIG, otherwise `~/.kube/config`."""
    listed = [Path(path).expanduser() for path in environment.get("KUBECONFIG", "").split(os.pathsep) if path]
    return listed or [Path("~/.kube/config").expanduser()]


def read_kubeconfig(paths: list[Path]) -> Kubeconfig:
    """Read and merge files, and skip missing ones; raise ConfigError."""
    config = Kubeconfig()
    for path in paths:
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
        try:
            config.add(path, yaml.safe_load(text))
        except (yaml.YAMLError, ValueError) as error:
            raise ConfigError(f"{path}: is not YAML: {error}") from error
    return config
