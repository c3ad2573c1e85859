"""Volumes of pods that mirror API objects: their delay, and whether they can be mounted."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field

from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import Doc, items, part
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.cluster.process import Process
from stateward.simulation.cluster.scheduler import CLAIMS, PODS, claim_names


@dataclass(slots=True, eq=False)
class Run:
    """One pod on one node."""

    pod: Key
    uid: str
    node: str
    address: str = ""
    process: Process | None = None
    ready: bool = False
    restarts: int = 0
    stopping: bool = False
    gone: bool = False
    ended: Doc = field(default_factory=dict[str, object])
    born: Doc = field(default_factory=dict[str, object])
    """The annotations of the pod when its node received it."""
    mounted_at: float | None = None
    """The time of the configuration in its volume."""


@dataclass(slots=True)
class NodeBehavior:
    """How nodes behave; times in seconds, as ranges."""

    pull: tuple[float, float] = (1.0, 6.0)
    stop: tuple[float, float] = (1.0, 6.0)
    probe: tuple[float, float] = (0.5, 5.0)
    files: tuple[float, float] = (0.0, 20.0)
    """How late a changed Secret or ConfigMap reaches the volumes of running pods."""
    config: float = 0.0
    """How late a changed Secret reaches a starting pod."""
    missing: frozenset[str] = frozenset()
    """Versions whose image cannot be pulled."""


class Mounts:
    """The volumes of pods; `behavior` returns the current delays, `up` whether a pod's node is connected."""

    def __init__(
        self, context: SimulationContext, behavior: Callable[[], NodeBehavior], up: Callable[[Run], bool]
    ) -> None:
        self._context = context
        self._store = context.store
        self._behavior = behavior
        self._up = up

    def problem(self, pod: Stored) -> str:
        """Return why the pod's volumes cannot be mounted; empty if they can."""
        namespace = pod.key.namespace
        for volume in items(pod.doc, "spec", "volumes"):
            if part(volume, "secret").get("optional"):
                continue
            secret, config = part(volume, "secret").get("secretName"), part(volume, "configMap").get("name")
            if secret and self._store.get("/secrets", Key(namespace, secret)) is None:
                return f'MountVolume.SetUp failed: secret "{secret}" not found'
            if config and self._store.get("/configmaps", Key(namespace, config)) is None:
                return f'MountVolume.SetUp failed: configmap "{config}" not found'
        for name in claim_names(pod.doc):
            claim = self._store.get(CLAIMS, Key(namespace, name))
            if claim is None or part(claim.doc, "status").get("phase") != "Bound":
                return "waiting for volumes to attach"
        return ""

    def given(self, run: Run, pod: Stored) -> dict[str, str]:
        """Return the configuration that a pod receives when it starts now."""
        return self._configuration(run, pod, self._context.now - self._behavior().config)

    def shown(self, run: Run, pod: Stored) -> dict[str, str]:
        """Return the configuration in the running pod's volume; it never becomes older."""
        if run.mounted_at is None:
            run.mounted_at = self._context.now - self._behavior().config
        elif self._up(run):
            run.mounted_at = max(run.mounted_at, self._late() - self._behavior().config)
        return self._configuration(run, pod, run.mounted_at)

    def files(self, run: Run, volume: str) -> dict[str, str]:
        """Return the files in the volume of a ConfigMap or Secret, as the pod reads them."""
        pod = self._store.get(PODS, run.pod)
        volumes = items(pod.doc, "spec", "volumes") if pod else []
        found = next((v for v in volumes if v["name"] == volume), Doc())
        secret, when = part(found, "secret").get("secretName", ""), self._late() if self._up(run) else 0.0
        if secret:
            kept = self._store.past("/secrets", Key(run.pod.namespace, secret), when)
            encoded = part(kept.doc, "data") if kept is not None else {}
            return {name: base64.b64decode(str(text)).decode() for name, text in encoded.items()}
        key = Key(run.pod.namespace, part(found, "configMap").get("name", ""))
        shown = self._store.past("/configmaps", key, when)
        return part(shown.doc, "data") if shown is not None else {}

    def annotation(self, run: Run, what: str) -> str:
        """Return an annotation in the pod's downward volume: never older than what its node has received."""
        pod = self._store.past(PODS, run.pod, self._late()) if self._up(run) else None
        known = part(pod.doc, "metadata", "annotations") if pod and pod.uid == run.uid else run.born
        return str(known.get(what, ""))

    def _configuration(self, run: Run, pod: Stored, at: float) -> dict[str, str]:
        name = next((part(v, "secret")["secretName"] for v in items(pod.doc, "spec", "volumes") if v.get("secret")), "")
        key = Key(run.pod.namespace, name)
        secret = self._store.past("/secrets", key, at) or self._store.get("/secrets", key)
        return {} if secret is None else dict(part(secret.doc, "data"))

    def _late(self) -> float:
        return self._context.now - self._context.rng.uniform(*self._behavior().files)
