"""A HorizontalPodAutoscaler of Kubernetes, and an API of external metrics in which a test sets the value."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from sandbox import Sandbox
from sandbox.kubernetes.kubeapi import wait_for
from stateward import pki
from tests.e2e.beside import Server
from tests.e2e.opensearch.scaling.sized_pools import VALUE, Load
from tests.e2e.operators import kubectl

API = "external.metrics.k8s.io"
METRIC = "requests"
NAME = "external-metrics"
PORT = 6443
PAIR = "/tmp/pair.pem"  # noqa: S108 - in the pod, which has nothing else
_SERVE = """
import http.server, json, ssl, sys, time
api, metric, port, pair, value = sys.argv[1:]
group = api + "/v1beta1"

class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.split("?")[0].endswith("/" + metric):
            number = open(value).read().strip()
            item = {"metricName": metric, "metricLabels": {}, "value": number}
            item["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            body = {"kind": "ExternalMetricValueList", "apiVersion": group, "metadata": {}, "items": [item]}
        else:
            listed = {"name": metric, "singularName": "", "namespaced": True, "verbs": ["get"]}
            listed["kind"] = "ExternalMetricValueList"
            body = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group, "resources": [listed]}
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

server = http.server.ThreadingHTTPServer(("", int(port)), Answers)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(pair)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


@asynccontextmanager
async def autoscaled(
    sandbox: Sandbox, namespace: str, scale: str, *, each: int, between: tuple[int, int]
) -> AsyncGenerator[Load]:
    """Have an autoscaler write a PoolScale: one member for each `each` of the metric, `between` two numbers."""
    server = _server(sandbox, namespace)
    load = Load(server)
    try:
        await server.up()
        load.becomes(each * between[0])
        server.apply(_api_service(namespace))
        await external_metrics(sandbox)
        server.apply(_autoscaler(scale, each, between))
        yield load
    finally:
        await remove_external_metrics(sandbox)


async def external_metrics(sandbox: Sandbox) -> None:
    """Wait until the API of external metrics answers."""
    available = ("wait", "--for=condition=Available", f"apiservice/v1beta1.{API}", "--timeout=90s")
    await asyncio.to_thread(kubectl, sandbox, *available)


async def remove_external_metrics(sandbox: Sandbox) -> None:
    """Remove the API of external metrics: without an answer, it would keep every namespace from being removed."""
    service = f"/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.{API}"
    sandbox.api.delete(service)
    gone = "the API of external metrics to be gone"
    await asyncio.to_thread(wait_for, gone, lambda: sandbox.api.find(service) is None, seconds=60)


def _server(sandbox: Sandbox, namespace: str) -> Server:
    now = time.time()
    shown = pki.issue(pki.new_authority("external metrics", now).signs, NAME, [NAME], now, 1)
    files = f'echo "$CERTIFICATE" > {PAIR} && echo "$KEY" >> {PAIR}'
    start = f'{files} && exec python3 -c "$PROGRAM" {API} {METRIC} {PORT} {PAIR} {VALUE}'
    environment = {"CERTIFICATE": shown.certificate, "KEY": shown.key, "PROGRAM": _SERVE}
    return Server(sandbox, namespace, NAME, "stateward", PORT, start, environment)


def _api_service(namespace: str) -> dict[str, Any]:
    spec = {
        "group": API,
        "version": "v1beta1",
        "service": {"name": NAME, "namespace": namespace, "port": PORT},
        "insecureSkipTLSVerify": True,
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
    }
    head = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
    return {**head, "metadata": {"name": f"v1beta1.{API}"}, "spec": spec}


def _autoscaler(scale: str, each: int, between: tuple[int, int]) -> dict[str, Any]:
    target = {"type": "AverageValue", "averageValue": str(each)}
    spec = {
        "scaleTargetRef": {"apiVersion": "stateward.dev/v1alpha1", "kind": "PoolScale", "name": scale},
        "minReplicas": between[0],
        "maxReplicas": between[1],
        "metrics": [{"type": "External", "external": {"metric": {"name": METRIC}, "target": target}}],
        # By default it waits five minutes before it takes a member away.
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}},
    }
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": scale},
        "spec": spec,
    }
