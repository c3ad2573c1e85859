"""The few calls of the Kubernetes API that the sandbox itself needs, over plain HTTPS."""

import base64
import http.client
import json
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

from sandbox.errors import SandboxError

type_json = "application/json"
merge_patch = "application/merge-patch+json"
strategic_patch = "application/strategic-merge-patch+json"
apply_patch = "application/apply-patch+yaml"

Object = dict[str, Any]


class ApiError(SandboxError):
    """The API server refused; `status` is its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"the API server answered {status}: {message}")
        self.status = status


class KubeApi:
    """A client of one API server, as one user. Each call has a connection of its own: threads may share it."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        address = urlsplit(str(cluster["server"]))
        self._host, self._port = address.hostname or "", address.port or 443
        self._tls = ssl.create_default_context(cadata=_decoded(cluster["certificate-authority-data"]))
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as pair:
            # The ssl module takes a client certificate from a file only.
            pair.write(_decoded(user["client-certificate-data"]) + _decoded(user["client-key-data"]))
            pair.flush()
            self._tls.load_cert_chain(pair.name)

    def get(self, path: str, *, timeout: float = 10) -> Object:
        """GET a path and return the object."""
        return self.call("GET", path, timeout=timeout)

    def items(self, path: str) -> list[Object]:
        """GET a list and return its items."""
        found: list[Object] = self.get(path).get("items") or []
        return found

    def find(self, path: str) -> Object | None:
        """GET an object; None if there is none."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def post(self, path: str, body: Object) -> Object:
        """Create an object."""
        return self.call("POST", path, body)

    def patch(self, path: str, body: Object, *, kind: str = merge_patch) -> Object:
        """Patch an object."""
        return self.call("PATCH", path, body, kind=kind)

    def delete(self, path: str) -> None:
        """Delete an object; one that is gone already is fine."""
        try:
            self.call("DELETE", path)
        except ApiError as error:
            if error.status != 404:
                raise

    def apply(self, path: str, body: Object) -> Object:
        """Apply an object as the field manager `sandbox`."""
        return self.call("PATCH", f"{path}?fieldManager=sandbox&force=true", body, kind=apply_patch)

    def text(self, path: str, *, timeout: float = 30) -> str:
        """GET a path and return the answer as text (logs, /readyz)."""
        return self._send("GET", path, None, type_json, timeout).decode(errors="replace")

    def call(self, method: str, path: str, body: Object | None = None, *, kind: str = type_json,
             timeout: float = 30) -> Object:  # fmt: skip
        """Send one request and return the object in the answer; raise ApiError for a refusal."""
        raw = None if body is None else json.dumps(body).encode()
        answer: Object = json.loads(self._send(method, path, raw, kind, timeout) or b"{}")
        return answer

    def watch(self, path: str, *, seconds: int = 60, **query: str) -> Iterator[Object]:
        """Watch a collection for at most `seconds`, yielding the events as they come."""
        asked = urlencode({"watch": "true", "timeoutSeconds": seconds, **query})
        connection = self._connect(seconds + 15)
        try:
            connection.request("GET", f"{path}?{asked}", headers={"Accept": type_json})
            answer = connection.getresponse()
            if answer.status >= 400:
                raise ApiError(answer.status, _message(answer.read()))
            for line in answer:
                yield json.loads(line)
        finally:
            connection.close()

    def _connect(self, timeout: float) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._tls)

    def _send(self, method: str, path: str, body: bytes | None, kind: str, timeout: float) -> bytes:
        connection = self._connect(timeout)
        headers: Mapping[str, str] = {"Content-Type": kind, "Accept": type_json}
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 400:
            raise ApiError(answer.status, _message(content))
        return content


def wait_for(what: str, condition: Callable[[], bool], *, seconds: float, pause: float = 0.1) -> None:
    """Wait until `condition` holds, trying again after network errors; raise SandboxError after `seconds`."""
    deadline = time.monotonic() + seconds
    last: Exception | None = None
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except (OSError, http.client.HTTPException, ApiError) as error:
            last = error
        time.sleep(pause)
    raise SandboxError(f"waited {seconds:.0f} s in vain for {what}" + (f" (last: {last})" if last else ""))


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()


def _message(content: bytes) -> str:
    try:
        return str(json.loads(content).get("message", ""))
    except (ValueError, AttributeError):
        return content.decode(errors="replace")[:200]
