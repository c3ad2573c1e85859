"""Traces of reconciliations, for a collector of OpenTelemetry.

Each reconciliation is a trace, and its parts are spans: what was read live, the answer of the database, the plan, each
action, the status. Without an endpoint nothing is recorded. Spans are sent by a thread of the SDK, in the JSON of OTLP
1.0 over HTTP (`/v1/traces`); those that the collector does not take are lost, and nothing else waits for it.
"""

import json
import os
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Any
from urllib.parse import unquote

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import INVALID_SPAN_CONTEXT, Span, StatusCode

from stateward import __version__
from stateward.api.values.base import Json

NAME = "stateward"
PATH = "/v1/traces"
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
"""The variable with headers for the collector, as OpenTelemetry defines it: `key=value,key=value`."""
PATIENCE = 10.0
"""Seconds for one request to the collector."""
CLOSING = 2.0
"""Seconds for the last spans when the operator stops."""
LONGEST = 300
"""Characters of the reason of a failure."""


class _Recorder:
    """What records the spans of this process: nothing, until traces are opened."""

    tracer: trace.Tracer = trace.NoOpTracer()


_RECORDER = _Recorder()


@contextmanager
def span(name: str, /, **attributes: str | int | bool) -> Generator[Span]:
    """Record a block as a span; an exception ends it as a failure, with its type and the beginning of its message."""
    named = {f"{NAME}.{key}": value for key, value in attributes.items()}
    with _RECORDER.tracer.start_as_current_span(
        name, attributes=named, record_exception=False, set_status_on_exception=False
    ) as made:
        try:
            yield made
        except Exception as error:
            made.set_status(StatusCode.ERROR, f"{type(error).__name__}: {error}"[:LONGEST])
            raise


@contextmanager
def open_traces(endpoint: str, identity: str) -> Generator[None]:
    """Record spans for the block, and send them to a collector; does nothing without an endpoint."""
    if not endpoint:
        yield
        return
    resource = Resource({"service.name": NAME, "service.version": __version__, "service.instance.id": identity})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(Collector(endpoint, headers(os.environ.get(HEADERS, "")))))
    _RECORDER.tracer = provider.get_tracer(NAME, __version__)
    try:
        yield
    finally:
        _RECORDER.tracer = trace.NoOpTracer()
        _close(provider)


def _close(provider: TracerProvider) -> None:
    """Send the last spans, and wait for it only for a moment.

    The SDK itself waits as long as the collector takes, and then for half a minute more. The disaster this prevents:
    a collector hangs, and a process that has lost its lease is not replaced by the next one.
    """
    closing = Thread(target=provider.shutdown, daemon=True)
    closing.start()
    closing.join(CLOSING)


def headers(text: str) -> dict[str, str]:
    """Return the headers of a list `key=value,key=value`, whose values are percent-encoded; others are left out."""
    pairs = (part.partition("=") for part in text.split(","))
    return {key.strip(): unquote(value.strip()) for key, found, value in pairs if found and key.strip()}


class Collector(SpanExporter):
    """Sends spans to one endpoint, from the thread of the SDK."""

    def __init__(self, endpoint: str, more: Mapping[str, str] | None = None) -> None:
        self._url = endpoint.rstrip("/").removesuffix(PATH) + PATH
        self._headers = {"Content-Type": "application/json", **(more or {})}

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans; a failure loses them."""
        request = urllib.request.Request(  # noqa: S310 - the flag accepts http and https only
            self._url, data=json.dumps(document(spans)).encode(), headers=self._headers, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
                answer.read()
        except (OSError, ValueError):
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS


def document(spans: Sequence[ReadableSpan]) -> Json:
    """Return spans of one process as OTLP has them; numbers of 64 bits are texts there."""
    resource = dict(spans[0].resource.attributes) if spans else {}
    scope = {"name": NAME, "version": __version__}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(resource)},
                "scopeSpans": [{"scope": scope, "spans": [_span(each) for each in spans]}],
            }
        ]
    }


def _span(found: ReadableSpan) -> Json:
    own = found.get_span_context() or INVALID_SPAN_CONTEXT
    made: Json = {
        "traceId": f"{own.trace_id:032x}",
        "spanId": f"{own.span_id:016x}",
        "name": found.name,
        "kind": 1,
        "startTimeUnixNano": str(found.start_time),
        "endTimeUnixNano": str(found.end_time),
        "attributes": _attributes(found.attributes or {}),
        "status": {"code": found.status.status_code.value, "message": found.status.description or ""},
    }
    return made if found.parent is None else {**made, "parentSpanId": f"{found.parent.span_id:016x}"}


def _attributes(found: Mapping[str, Any]) -> list[Json]:
    return [{"key": key, "value": _value(value)} for key, value in sorted(found.items())]


def _value(value: object) -> Json:
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}
