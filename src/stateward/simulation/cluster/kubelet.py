"""The kubelets: they start, probe, report and stop containers.

A node that is *cut off* neither reports nor receives anything, and its processes continue. A node without *power* has
no processes.
"""

from stateward.api.values import names
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.documents import Doc, items, part
from stateward.simulation.apiserver.store import Event, Stored
from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.cluster.mounts import Mounts, NodeBehavior, Run
from stateward.simulation.cluster.process import Container, Launcher
from stateward.simulation.cluster.scheduler import CLAIMS, PODS, ZONE, claim_names

BACKOFF = (10.0, 300.0)
"""Seconds before an exited container is restarted: the first and the longest delay."""


class Kubelets:
    """The kubelets of all nodes."""

    def __init__(self, context: SimulationContext, launcher: Launcher) -> None:
        self.behavior = NodeBehavior()
        self.cut_off: set[str] = set()
        self.powerless: set[str] = set()
        self.runs: dict[str, Run] = {}
        self._context = context
        self._store = context.store
        self._launcher = launcher
        self._mounts = Mounts(context, lambda: self.behavior, self._up)
        self._addresses: list[str] = []
        self._next_address = 1
        self._store.subscribers.append(self._on_event)

    def power_off(self, node: str) -> None:
        """Kill every process of a node."""
        self.powerless.add(node)
        for run in self._on(node):
            if run.process is not None:
                run.process.kill()
                # A container that starts again is not ready before its probe says so.
                run.process, run.ready = None, False
            run.stopping = False  # Processes that were stopping are stopped again when the power returns.

    def back(self, node: str) -> None:
        """Let a node report again: it starts missing processes, and removes deleted pods."""
        self.cut_off.discard(node)
        self.powerless.discard(node)
        for run in self._on(node):
            pod = self._store.get(PODS, run.pod)
            if pod is None or pod.uid != run.uid or pod.terminating:
                self._stop(run)
            elif run.process is None:
                run.restarts += 1
                self._context.soon(1.0, 5.0, self._begin, run)
            else:
                self._report(run)

    def crash(self, run: Run, code: int, why: str) -> None:
        """Kill the process of a container."""
        if run.process is not None and not run.stopping:
            run.process.kill()
            self._exited(run, code, why)

    def forget(self, run: Run) -> None:
        """Release the resources of a deleted pod on its node."""
        if run.address:
            self._addresses.append(run.address)
        self._launcher.discard(run.uid)

    def _on(self, node: str) -> list[Run]:
        return [run for run in self.runs.values() if run.node == node]

    def _up(self, run: Run) -> bool:
        return run.node not in self.cut_off and run.node not in self.powerless

    def _on_event(self, kind: str, event: Event) -> None:
        if kind != PODS:
            return
        new, old = event.new, event.old
        if new is None:
            if old is not None and old.uid in self.runs:
                self._context.later(0.1, self._stop, self.runs[old.uid])
            return
        run = self.runs.get(new.uid)
        if run is None and new.doc["spec"].get("nodeName") and not new.terminating:
            if part(new.doc, "status").get("phase") == "Failed":
                return
            run = Run(new.key, new.uid, new.doc["spec"]["nodeName"], born=part(new.doc, "metadata", "annotations"))
            self.runs[new.uid] = run
            self._context.later(0.1, self._begin, run)
        elif run is not None and new.terminating and not run.stopping:
            self._context.later(0.1, self._stop, run)
        elif run is None and new.terminating and new.doc["spec"].get("nodeName"):
            self._context.later(0.5, self._finish, Run(new.key, new.uid, new.doc["spec"]["nodeName"]))

    def _begin(self, run: Run) -> None:
        pod = self._store.get(PODS, run.pod)
        if run.stopping or run.process is not None or not self._up(run) or pod is None or pod.uid != run.uid:
            return
        problem = self._mounts.problem(pod)
        if problem:
            self._waiting(run, pod, "ContainerCreating", problem)
            self._context.later(3.0, self._begin, run)
            return
        if {image_version(pod), *init_versions(pod)} & set(self.behavior.missing):
            self._context.count("image not pulled")
            self._waiting(run, pod, "ImagePullBackOff", f"Back-off pulling image {image_of(pod)}")
            self._context.later(30.0, self._begin, run)
            return
        self._context.soon(*self.behavior.pull, self._run, run)

    def _run(self, run: Run) -> None:
        pod = self._store.get(PODS, run.pod)
        if run.stopping or run.process is not None or not self._up(run) or pod is None or pod.uid != run.uid:
            return
        if not run.address:
            run.address = self._take_address()
        run.process = self._launcher.start(self._container(run, pod))
        self._report(run)

    def _container(self, run: Run, pod: Stored) -> Container:
        node = self._store.get("/nodes", Key("", run.node))
        claims = claim_names(pod.doc)
        claim = self._store.get(CLAIMS, Key(pod.key.namespace, claims[0])) if claims else None
        container = pod.doc["spec"]["containers"][0]
        return Container(
            name=container["name"],
            pod=run.pod,
            uid=run.uid,
            node=run.node,
            zone=node.labels.get(ZONE, "") if node else "",
            address=run.address,
            version=image_version(pod),
            beside=beside_version(pod),
            config=lambda: self._mounts.given(run, pod),
            shown=lambda: self._mounts.shown(run, pod),
            managed=names.ANNOTATION_AGENT in part(pod.doc, "metadata", "annotations"),
            environment={e["name"]: e.get("value", "") for e in items(container, "env")},
            seeds=lambda: self._mounts.files(run, "seeds"),
            mounted=lambda volume: self._mounts.files(run, volume),
            annotation=lambda what: self._mounts.annotation(run, what),
            disk=claim.uid if claim is not None else run.uid,
            exited=lambda code, why: self._exited(run, code, why),
            probe=lambda: self._context.soon(*self.behavior.probe, self._probed, run) and None,
        )

    def _probed(self, run: Run) -> None:
        # The probe reads the state when it runs: meanwhile the process may have been stopped or restarted.
        yes = run.process is not None and run.process.serves
        if run.process is not None and run.ready != yes and not run.stopping:
            run.ready = yes
            self._report(run)

    def _exited(self, run: Run, code: int, why: str) -> None:
        run.process, run.ready = None, False
        if run.stopping:
            self._finish(run)
            return
        run.ended = {"exitCode": code, "reason": "Error" if code else "Completed", "message": why}
        run.restarts += 1
        pod = self._store.get(PODS, run.pod)
        if pod is not None and self._up(run) and pod.uid == run.uid:
            self._waiting(run, pod, "CrashLoopBackOff", f"back-off restarting failed container: {why}")
        first, longest = BACKOFF
        self._context.later(min(longest, first * 2 ** min(run.restarts - 1, 5)), self._begin, run)

    def _stop(self, run: Run) -> None:
        if not self._up(run) or run.stopping:
            return
        run.stopping = True
        if run.process is None:
            self._finish(run)
        else:
            run.process.stop()

    def _finish(self, run: Run) -> None:
        """Remove a terminated pod from the server, with its address and its ephemeral data."""
        if run.gone or not self._up(run):
            run.stopping = False
            return
        run.gone = True
        self.runs.pop(run.uid, None)
        self.forget(run)
        pod = self._store.get(PODS, run.pod)
        if pod is not None and pod.uid == run.uid:
            self._context.server.delete(PODS, run.pod, DeleteOptions(Preconditions(run.uid), grace_seconds=0))

    def _take_address(self) -> str:
        # An address is soon reused: a client with an old one reaches another pod.
        if self._addresses and self._context.rng.random() < 0.5:
            return self._addresses.pop(0)
        self._next_address += 1
        return f"10.244.{self._next_address // 250}.{self._next_address % 250 + 1}"

    def _waiting(self, run: Run, pod: Stored, reason: str, message: str) -> None:
        state = {"waiting": {"reason": reason, "message": message}}
        self._write(run, pod, state, "Pending" if not run.restarts else "Running")

    def _report(self, run: Run) -> None:
        pod = self._store.get(PODS, run.pod)
        if pod is not None and pod.uid == run.uid and self._up(run) and run.process is not None:
            self._write(run, pod, {"running": {}}, "Running")

    def _write(self, run: Run, pod: Stored, state: Doc, phase: str) -> None:
        container = pod.doc["spec"]["containers"][0]
        ready = {"status": "True" if run.ready else "False"}
        status: Doc = {
            **part(pod.doc, "status"),
            "phase": phase,
            "conditions": self._context.conditions(pod, {"Ready": ready, "ContainersReady": ready}),
            "containerStatuses": [
                {
                    "name": container["name"],
                    "image": container["image"],
                    "ready": run.ready,
                    "restartCount": run.restarts,
                    "state": state,
                    "lastState": {"terminated": run.ended} if run.ended else {},
                }
            ],
        }
        if run.address:
            status["podIP"] = run.address
        self._context.change(pod, ("status",), status)


def image_of(pod: Stored) -> str:
    """Return the image of a pod's first container."""
    return str(pod.doc["spec"]["containers"][0].get("image", ""))


def image_version(pod: Stored) -> str:
    """Return the version in the tag of a pod's image."""
    return tag_version(image_of(pod))


def beside_version(pod: Stored) -> str:
    """Return the version of the image whose init container adds programs of another version."""
    images = [c.get("image", "") for c in items(pod.doc["spec"], "initContainers") if c["name"] == "stateward-beside"]
    return tag_version(str(images[0])) if images else ""


def init_versions(pod: Stored) -> set[str]:
    """Return the versions in the tags of the images of a pod's init containers."""
    return {tag_version(str(c.get("image", ""))) for c in items(pod.doc["spec"], "initContainers")}


def tag_version(image: str) -> str:
    """Return the version in the tag of an image."""
    return image.partition("@")[0].rpartition(":")[2].partition("-")[0]
