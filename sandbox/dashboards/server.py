"""The program of the stand-in: a small server that depends on its configuration and its database as the real ones do.

It ends at once if a setting is unknown or missing, and later if the database refuses its credentials for long or holds
saved objects of a later version. It needs Python's own library only.
"""

import base64
import json
import os
import signal
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FATAL = 78
"""Exit code of the real ones after a fatal error."""
MIGRATION = float(os.environ.get("STAND_IN_MIGRATION_SECONDS", "3"))
PATIENCE = 60.0
"""Seconds without a login until the process gives up."""
INDEX = ".kibana"
COMMON = {
    "server.host": str,
    "server.name": str,
    "server.port": int,
    "server.maxPayload": int,
    "server.publicBaseUrl": str,
    "server.ssl.enabled": bool,
    "server.ssl.certificate": str,
    "server.ssl.key": str,
    "status.allowAnonymous": bool,
}
OF = {
    "opensearch": {
        "opensearch.hosts": list,
        "opensearch.username": str,
        "opensearch.password": str,
        "opensearch.requestHeadersAllowlist": list,
        "opensearch.ssl.certificateAuthorities": list,
        "opensearch.ssl.verificationMode": str,
        "opensearch_security.cookie.password": str,
        "opensearch_security.cookie.secure": bool,
        "opensearch_security.multitenancy.enabled": bool,
    },
    "elasticsearch": {
        "elasticsearch.hosts": list,
        "elasticsearch.serviceAccountToken": str,
        "elasticsearch.ssl.certificateAuthorities": list,
        "elasticsearch.ssl.verificationMode": str,
        "xpack.security.encryptionKey": str,
        "xpack.encryptedSavedObjects.encryptionKey": str,
        "xpack.reporting.encryptionKey": str,
    },
}
LEAST_KEY = 32
"""Characters of an encryption key at least, as documented."""


def fatal(text: str) -> None:
    """End the process with a message, as the real ones do."""
    print(f"FATAL  {text}", flush=True)
    os._exit(FATAL)


def settings_of(home: str, engine: str) -> dict[str, Any]:
    """Return the settings of the configuration file, each checked."""
    name = "kibana.yml" if engine == "elasticsearch" else "opensearch_dashboards.yml"
    lines = Path(home, "config", name).read_text(encoding="utf-8").splitlines()
    found = {key: json.loads(value) for key, value in (line.split(": ", 1) for line in lines if line)}
    known = {**COMMON, **OF[engine]}
    for key, value in found.items():
        if key not in known:
            fatal(f"[config validation] Unknown configuration key: [{key}]")
        if type(value) is not known[key]:
            fatal(f"[config validation of {key}]: expected {known[key].__name__}, got {value!r}")
    for key in (f"{engine}.hosts", "server.port"):
        if key not in found:
            fatal(f"[config validation] {key} is missing")
    for key, value in found.items():
        if key.endswith(("encryptionKey", "cookie.password")) and len(value) < LEAST_KEY:
            fatal(f"[config validation of {key}]: must have {LEAST_KEY} characters or more")
    return found


class Database:
    """The database as the configuration reaches it."""

    def __init__(self, engine: str, settings: dict[str, Any]) -> None:
        self._engine = engine
        self._url = settings[f"{engine}.hosts"][0]
        self._trust: ssl.SSLContext | None = None
        if self._url.startswith("https:"):
            (authority,) = settings[f"{engine}.ssl.certificateAuthorities"]
            if settings[f"{engine}.ssl.verificationMode"] != "full":
                fatal("the stand-in wants to verify its database")
            self._trust = ssl.create_default_context(cafile=authority)
        self._headers = {"Content-Type": "application/json", "X-Elastic-Product-Origin": "kibana"}
        if token := settings.get("elasticsearch.serviceAccountToken"):
            self._headers["Authorization"] = f"Bearer {token}"
        elif name := settings.get("opensearch.username"):
            pair = base64.b64encode(f"{name}:{settings['opensearch.password']}".encode()).decode()
            self._headers["Authorization"] = f"Basic {pair}"

    def ask(self, path: str, method: str = "GET", body: Any = None) -> tuple[int, Any]:
        """Send a request; returns the status and the answer, 0 without one."""
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"{self._url}/{path}", data, self._headers, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=10, context=self._trust) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")
        except (OSError, ValueError) as error:
            return 0, str(error)

    def versions(self) -> list[str]:
        """Return the versions of the nodes; none if they are not told."""
        status, answer = self.ask("_nodes?filter_path=nodes.*.version")
        return [node["version"] for node in answer["nodes"].values()] if status == 200 else []


class Server:
    """The process: it waits for its database, migrates, and then says that it is available."""

    def __init__(self, engine: str, version: str, home: str) -> None:
        self.engine, self.version = engine, version
        self.settings = settings_of(home, engine)
        self.database = Database(engine, self.settings)
        self.migrated = False
        self.trouble = "the database was not asked yet"
        self._silent_since = time.monotonic()

    def work(self) -> None:
        """Migrate and then watch the database forever."""
        while True:
            try:
                self.trouble = self._trouble()
            except Exception as error:  # noqa: BLE001 - whatever happens is shown in the status
                self.trouble = repr(error)
            now = time.monotonic()
            self._silent_since = self._silent_since if self.trouble else now
            if self.trouble:
                print(f"WARN   {self.trouble}", flush=True)
            if now - self._silent_since > PATIENCE and not self.migrated:
                fatal(self.trouble)
            time.sleep(1)

    def _trouble(self) -> str:
        versions = self.database.versions()
        if not versions:
            return f"no login to the database: {self.database.ask('')[0]}"
        for found in versions:
            if number(found) < number(self.version) or number(found)[0] != number(self.version)[0]:
                return f"a node runs {found}, which does not work with {self.version}"
        return "" if self.migrated else self._migrate()

    def _migrate(self) -> str:
        """Bring the saved objects to the own version; returns why that is not done."""
        status, answer = self.database.ask(f"{INDEX}/_doc/migration")
        stored = answer["_source"]["version"] if status == 200 else ""
        if status not in (200, 404):
            return f"the saved objects cannot be read: {status} {answer}"
        if stored and number(stored) > number(self.version):
            fatal(f"the saved objects were migrated by {stored}, and {self.version} cannot read them")
        if stored != self.version:
            print(f"INFO   migrating saved objects from {stored or 'none'} to {self.version}", flush=True)
            time.sleep(MIGRATION)
            body = {"version": self.version, "from": stored, "time": time.time()}
            for path in (f"{INDEX}/_doc/migration?refresh=true", f"{INDEX}/_doc/migration-{self.version}?refresh=true"):
                status, answer = self.database.ask(path, "PUT", body)
                if status not in (200, 201):
                    return f"the saved objects cannot be migrated: {status} {answer}"
        self.migrated = True
        return ""

    def status(self) -> tuple[int, dict[str, Any]]:
        """Return the answer of `/api/status`, in the words of the engine and version."""
        if not self.migrated:
            return 503, {"error": "server is not ready yet"}
        good = not self.trouble
        if self.engine == "opensearch":
            overall = {"state": "green" if good else "red", "title": self.trouble or "Green"}
            return 200, {"name": "stand-in", "version": {"number": self.version}, "status": {"overall": overall}}
        return (200 if good else 503), {"status": {"overall": {"level": "available" if good else "unavailable"}}}


def number(version: str) -> tuple[int, ...]:
    """Return a version as numbers."""
    return tuple(int(part) for part in version.split("."))


def handler(server: Server) -> type[BaseHTTPRequestHandler]:
    """Return what answers requests."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/api/status":
                code, body = 404, {"error": "the stand-in serves its status only"}
            elif server.settings.get("status.allowAnonymous") is not True:
                code, body = 401, {"error": "Unauthorized"}
            else:
                code, body = server.status()
            data = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the name of the base class
            pass

    return Handler


def end(number: int, frame: object) -> None:
    """End at once, as a signal asks for."""
    print(f"INFO   signal {number} at {frame}", flush=True)
    os._exit(0)


def main(engine: str, version: str, home: str) -> None:
    """Run the server."""
    signal.signal(signal.SIGTERM, end)  # The first process of a container has no default for it.
    server = Server(engine, version, home)
    settings = server.settings
    listening = ThreadingHTTPServer(
        (settings.get("server.host", "localhost"), settings["server.port"]), handler(server)
    )
    if settings.get("server.ssl.enabled"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(settings["server.ssl.certificate"], settings["server.ssl.key"])
        listening.socket = context.wrap_socket(listening.socket, server_side=True)
    threading.Thread(target=server.work, daemon=True).start()
    print(f"INFO   {engine} dashboards {version} listen", flush=True)
    listening.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:4])
