"""The agent in a member's pod: process 1 of the database's container, brought by an init container.

Everything in here stays the same for the life of a pod, also when its configuration changes under it. What may change
(where the database answers its probes) is a file of the configuration, and the arguments only name it.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath

from stateward import __version__
from stateward.agent.process import configuration, handover
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.pods.probe import probe
from stateward.engines.pods.read_only import container_rights

VERSION = __version__
"""Version of the agent that new pods get."""
API_PORT = 9443
PROBES_PORT = 9444
CONTAINER = "stateward-agent"
"""Name of the init container that brings the agent."""
HOME = "/stateward/agent"
SECRETS = "/stateward/agent-tls"
STARTED, READY = "stateward-started-url", "stateward-ready-url"
"""Files of the configuration that say where the database answers."""
CREDENTIALS = "stateward-probe-credentials"
"""File of the configuration with USER:PASSWORD for these, where the database asks who it is."""
MARGIN = 5
"""Seconds between the agent's last signal to the database and the kubelet's to the agent."""


def checksum(files: Mapping[str, str]) -> str:
    """Return the checksum by which the agent knows a configuration."""
    return configuration.checksum({name: content.encode() for name, content in files.items()})


def init_container(image: str) -> Json:
    """Return the container that copies the agent, with an interpreter of its own, into the pod."""
    return {
        "name": CONTAINER,
        "image": image,
        "command": ["python3", "-m", "stateward.agent", "copy", HOME],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": container_rights(),
        "volumeMounts": [{"name": "agent", "mountPath": HOME}],
    }


def start(script: list[str], grace: int, *, asks: bool = True) -> Json:
    """Return command and arguments of the database's container; the pod is given `grace` seconds to end.

    A database that answers over HTTP is asked by the agent whether it serves; of any other it only knows that it runs.
    """
    options = {
        "config": "/stateward/config",
        "keep": "/stateward/run/config",
        "phase": "/stateward/pod/restart-phase",
        "expected": "/stateward/pod/config-checksum",
        "api": f":{API_PORT}",
        "probes": f":{PROBES_PORT}",
        "certificate": f"{SECRETS}/tls.crt",
        "key": f"{SECRETS}/tls.key",
        "token": f"{SECRETS}/token",
        **(_QUESTIONS if asks else {}),
        "grace": str(max(1, grace - MARGIN)),
        "releases": HOME,
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return {"command": handover.command(PurePosixPath(HOME) / "current"), "args": ["run", *words, "--", *script]}


_QUESTIONS = {
    "started-url": f"@{STARTED}",
    "ready-url": f"@{READY}",
    "credentials": f"/stateward/run/config/current/{CREDENTIALS}",
}


def volumes(member: str) -> list[Json]:
    """Return the volumes with the agent and with what it proves itself by."""
    return [
        {"name": "agent", "emptyDir": {"sizeLimit": "256Mi"}},
        {"name": "agent-tls", "secret": {"secretName": names.agent(member)}},
    ]


def volume_mounts() -> list[Json]:
    """Return where they are mounted in the database's container."""
    return [
        {"name": "agent", "mountPath": HOME, "readOnly": True},
        {"name": "agent-tls", "mountPath": SECRETS, "readOnly": True},
    ]


def downward() -> list[Json]:
    """Return the files by which the agent hears what its pod's annotations say."""
    wanted = {"restart-phase": names.ANNOTATION_PHASE, "config-checksum": names.ANNOTATION_CHECKSUM}
    return [
        {"path": path, "fieldRef": {"fieldPath": f"metadata.annotations['{annotation}']"}}
        for path, annotation in wanted.items()
    ]


def ports() -> list[Json]:
    """Return the agent's ports."""
    return [{"name": "agent", "containerPort": API_PORT, "protocol": "TCP"}]


def probes() -> Json:
    """Return the three probes; the agent knows of a database that was told to stop, and asks it otherwise.

    The agent is patient with a database that misses an answer, so that the kubelet need not be: it cannot tell it from
    one that was told to stop.
    """
    return {
        "startupProbe": probe("/started", PROBES_PORT, period=5, timeout=5, failures=180),
        "readinessProbe": probe("/ready", PROBES_PORT, period=1, timeout=5, failures=2),
        "livenessProbe": probe("/live", PROBES_PORT, period=20, timeout=10, failures=9),
    }
