"""A HorizontalPodAutoscaler of Kubernetes, and an API of external metrics in which a test sets the value."""

import base64
import json
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sandbox import Sandbox
from sandbox.kubernetes.kubeapi import wait_for
from stateward import pki
from tests.e2e.operators import kubectl

API = "external.metrics.k8s.io"
METRIC = "requests"
NAME = "external-metrics"
PORT = 6443
FOLDER = "/certificate"
VALUE = "/tmp/value"  # noqa: S108 - in the pod, which has nothing else
_SERVE = """
import http.server, json, ssl, sys, time
api, metric, port, folder, value = sys.argv[1:]
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
context.load_cert_chain(folder + "/tls.crt", folder + "/tls.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


@dataclass(frozen=True)
class Load:
    """The metric that the autoscaler follows."""

    sandbox: Sandbox
    namespace: str

    def becomes(self, value: int) -> None:
        """Set the value."""
        write = f"echo {value} > {VALUE}"
        kubectl(self.sandbox, "-n", self.namespace, "exec", f"pod/{NAME}", "--", "sh", "-c", write)


@contextmanager
def autoscaled(sandbox: Sandbox, namespace: str, scale: str, *, each: int, between: tuple[int, int]) -> Generator[Load]:
    """Have an autoscaler write a PoolScale: one member for each `each` of the metric, `between` two numbers."""
    service = f"/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.{API}"
    try:
        for body in (*_pod(sandbox), _service(), _api_service(namespace)):
            kubectl(sandbox, "-n", namespace, "apply", "-f", "-", stdin=json.dumps(body))
        kubectl(sandbox, "-n", namespace, "wait", "--for=condition=Ready", f"pod/{NAME}", "--timeout=90s")
        kubectl(sandbox, "wait", "--for=condition=Available", f"apiservice/v1beta1.{API}", "--timeout=90s")
        load = Load(sandbox, namespace)
        load.becomes(each * between[0])
        body = _autoscaler(scale, each, between)
        kubectl(sandbox, "-n", namespace, "apply", "-f", "-", stdin=json.dumps(body))
        yield load
    finally:
        # A group that does not answer would keep every namespace from being removed.
        sandbox.api.delete(service)
        wait_for("the API of external metrics to be gone", lambda: sandbox.api.find(service) is None, seconds=60)


def _pod(sandbox: Sandbox) -> Iterator[dict[str, Any]]:
    now = time.time()
    shown = pki.issue(pki.new_authority("external metrics", now).signs, NAME, [NAME], now, 1)
    data = {"tls.crt": shown.certificate, "tls.key": shown.key}
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}
    yield {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME}, "data": encoded}
    container = {
        "name": "serve",
        "image": sandbox.load_image("stateward"),
        "command": ["python3", "-c", _SERVE, API, METRIC, str(PORT), FOLDER, VALUE],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        "volumeMounts": [{"name": "certificate", "mountPath": FOLDER}],
    }
    spec = {
        "containers": [container],
        "volumes": [{"name": "certificate", "secret": {"secretName": NAME}}],
        "terminationGracePeriodSeconds": 0,
    }
    yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME, "labels": {"app": NAME}}, "spec": spec}


def _service() -> dict[str, Any]:
    spec = {"selector": {"app": NAME}, "ports": [{"port": 443, "targetPort": PORT}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME}, "spec": spec}


def _api_service(namespace: str) -> dict[str, Any]:
    spec = {
        "group": API,
        "version": "v1beta1",
        "service": {"name": NAME, "namespace": namespace},
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
