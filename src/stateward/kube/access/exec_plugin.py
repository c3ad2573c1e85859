"""Exec plugins: commands of a cloud provider that print short-lived credentials.

Credentials are cached until a minute before they expire, or until the server refuses them. The protocol is
client.authentication.k8s.io/v1 and v1beta1.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec

from stateward.kube.access.credentials import Credential
from stateward.kube.objects.errors import ConfigError
from stateward.kube.objects.metadata import WireRecord
from stateward.kube.timing.clock import Clock, SystemClock

_GROUP = "client.authentication.k8s.io"
_VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
# Credentials are renewed this long before they expire, so that none expires during a request.
_MARGIN = timedelta(seconds=60)


class _ExecStatus(WireRecord):
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""


class _ExecCredential(WireRecord):
    api_version: str = ""
    kind: str = ""
    status: _ExecStatus | None = None


@dataclass(frozen=True, slots=True)
class ExecCommand:
    """The command, its arguments, and the kubeconfig field that configures it.

    `cluster` is passed to plugins that request cluster information; `timeout` is in seconds.
    """

    place: str
    api_version: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    cluster: Mapping[str, Any] | None = None
    install_hint: str = ""
    interactive: bool = False
    timeout: float = 60.0


class ExecCredentials:
    """Credentials from an exec plugin, which runs again when they expire or are refused."""

    def __init__(self, command: ExecCommand, *, base: Credential | None = None, clock: Clock | None = None) -> None:
        if command.api_version not in _VERSIONS:
            accepted = " or ".join(_VERSIONS)
            raise ConfigError(f"{command.place}.apiVersion: {command.api_version!r} is not known; expected {accepted}")
        self._command = command
        self._base = base or Credential()
        self._clock = clock or SystemClock()
        self._running = asyncio.Lock()
        self._held: tuple[Credential, datetime | None] | None = None

    async def current(self) -> Credential:
        """Return valid credentials; raise ConfigError if the plugin returns none."""
        # One run serves all waiting requests.
        async with self._running:
            if self._held is None or self._expired(self._held[1]):
                self._held = self._read(await self._run())
            return self._held[0]

    def invalidate(self, refused: Credential) -> None:
        """Run the plugin again at the next request, unless it has run since: one run answers all refused requests."""
        if self._held is not None and self._held[0] is refused:
            self._held = None

    def _expired(self, at: datetime | None) -> bool:
        # Year 1 is how Go writes a time that is not set.
        return at is not None and at.year > 1 and self._clock.now() + _MARGIN >= at

    async def _run(self) -> bytes:
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command.argv,
                env={**os.environ, **self._command.environment, "KUBERNETES_EXEC_INFO": self._info()},
                stdin=None if self._command.interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f"; {self._command.install_hint}" if self._command.install_hint else ""
            raise self._error(f"cannot run {self._command.argv[0]!r}: {error.strerror}{hint}") from error
        return await self._output(process)

    async def _output(self, process: asyncio.subprocess.Process) -> bytes:
        try:
            async with self._clock.timeout(self._command.timeout):
                output, complaint = await process.communicate()
        except TimeoutError as error:
            raise self._error(f"did not answer within {self._command.timeout:g} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            text = complaint.decode(errors="replace").strip()[-500:]
            raise self._error(f"ended with code {process.returncode}: {text}")
        return output

    def _read(self, output: bytes) -> tuple[Credential, datetime | None]:
        try:
            answer = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._error(f"did not print an ExecCredential: {error}") from error
        status = answer.status
        if answer.api_version != self._command.api_version:
            raise self._error(f"printed apiVersion {answer.api_version!r}, expected {self._command.api_version!r}")
        if status is None or not (status.token or status.client_certificate_data):
            raise self._error("printed neither a token nor a client certificate")
        certificate = status.client_certificate_data.encode() or self._base.certificate
        key = status.client_key_data.encode() or self._base.key
        return Credential(status.token, certificate=certificate, key=key), status.expiration_timestamp

    def _info(self) -> str:
        spec: dict[str, Any] = {"interactive": self._command.interactive and sys.stdin.isatty()}
        if self._command.cluster is not None:
            spec["cluster"] = self._command.cluster
        info = {"apiVersion": self._command.api_version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(info).decode()

    def _error(self, problem: str) -> ConfigError:
        return ConfigError(f"{self._command.place}: the credential plugin {problem}")
