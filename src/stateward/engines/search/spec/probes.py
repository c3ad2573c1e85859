"""Probes that know the difference between starting, joined and alive. Measured on OpenSearch 1.3, 2.19 and 3.4.

`GET /` answers 200 as soon as the process listens, with or without a cluster manager, so it says that the process is
alive and nothing more. Counting the documents of indices that don't exist goes the way of every search: it is refused
at once with 503 until the node has joined a cluster whose state is recovered, and costs nothing. It goes on answering
while a cluster manager is being elected, and so it should: the node can still serve reads.
"""

from dataclasses import dataclass

from stateward.api.values.base import Json
from stateward.engines.pods.agent import READY, STARTED
from stateward.engines.pods.probe import probe
from stateward.engines.search.spec.flavor import HTTP_PORT

SERVES = "/stateward-readiness-*/_count?allow_no_indices=true&ignore_unavailable=true"


@dataclass(frozen=True, slots=True)
class Question:
    """What a node is asked."""

    alive: str
    """Path that is answered with a cluster and without."""
    serves: str = SERVES
    """Path that is answered while the node can serve."""
    scheme: str = "http"


def probes(question: Question) -> Json:
    """Return the three probes of the database's container."""
    alive, scheme = question.alive, question.scheme.upper()
    made = {
        # 15 minutes: the leave to form the cluster may take 5, and a node with many shards reads their state first.
        "startupProbe": probe(alive, HTTP_PORT, period=5, timeout=5, failures=180),
        "readinessProbe": probe(question.serves, HTTP_PORT, period=5, timeout=5, failures=3),
        # 3 minutes without any answer: a long collection of garbage is not a reason to lose a node.
        "livenessProbe": probe(alive, HTTP_PORT, period=20, timeout=10, failures=9),
    }
    return {name: {**each, "httpGet": {**each["httpGet"], "scheme": scheme}} for name, each in made.items()}


def probe_files(question: Question) -> dict[str, str]:
    """Return the files of the configuration that tell the agent where the database answers."""
    asked = {STARTED: question.alive, READY: question.serves}
    return {name: f"{question.scheme}://127.0.0.1:{HTTP_PORT}{path}\n" for name, path in asked.items()}
