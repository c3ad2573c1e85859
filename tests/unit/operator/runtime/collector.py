"""A collector of traces on loopback, and what it has received."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def collector(status: int = 200) -> Generator[tuple[str, list[tuple[str, dict[str, str], Any]]]]:
    """Serve a collector; gives its URL, and the path, headers and body of each request."""
    received: list[tuple[str, dict[str, str], Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            received.append((self.path, dict(self.headers), body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def spans_of(received: list[tuple[str, dict[str, str], Any]]) -> dict[str, Any]:
    scopes = [scope for _, _, body in received for each in body["resourceSpans"] for scope in each["scopeSpans"]]
    return {found["name"]: found for scope in scopes for found in scope["spans"]}


def text(found: Any, name: str) -> str:
    return next(each["value"]["stringValue"] for each in found["attributes"] if each["key"] == name)
