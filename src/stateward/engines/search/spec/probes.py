"""Probes that distinguish starting, joined and alive. Measured on OpenSearch 1.3, 2.19 and 3.4.

`GET /` answers 200 as soon as the process listens, with or without a cluster manager, so it shows only that the process
is alive. A document count on indices that don't exist takes the path of every search. It costs nothing, and fails at
once with 503 until the node has joined a cluster with a recovered state. It keeps answering during the election of a
cluster manager, as it should: the node can still serve reads.
"""

from dataclasses import dataclass

from stateward.api.values.base import Json
from stateward.engines.pods.agent import READY, STARTED
from stateward.engines.pods.probe import probe
from stateward.engines.search.spec.flavor import HTTP_PORT

SERVES = "/stateward-readiness-*/_count?allow_no_indices=true&ignore_unavailable=true"


@dataclass(frozen=True, slots=True)
class Question:
    """The probe requests to a node."""

    alive: str
    """Path that is answered with and without a cluster."""
    serves: str = SERVES
    """Path that is answered while the node can serve."""
    scheme: str = "http"


def probes(question: Question) -> Json:
    """Return the three probes of the database container."""
    alive, scheme = question.alive, question.scheme.upper()
    made = {
        # 15 minutes: the grant to form the cluster may take 5, and a node with many shards first reads their state.
        "startupProbe": probe(alive, HTTP_PORT, period=5, timeout=5, failures=180),
        "readinessProbe": probe(question.serves, HTTP_PORT, period=5, timeout=5, failures=3),
        # 3 minutes without any answer: a long garbage collection is no reason to kill a node.
        "livenessProbe": probe(alive, HTTP_PORT, period=20, timeout=10, failures=9),
    }
    return {name: {**each, "httpGet": {**each["httpGet"], "scheme": scheme}} for name, each in made.items()}


def probe_files(question: Question) -> dict[str, str]:
    """Return the configuration files that give the agent the probe URLs of the database."""
    asked = {STARTED: question.alive, READY: question.serves}
    return {name: f"{question.scheme}://127.0.0.1:{HTTP_PORT}{path}\n" for name, path in asked.items()}
