"""StatefulSets that make pods, pods that start, crash or hang by what they are made from, and volumes."""

from stateward.planning.facts.upgrade_order import newer, parse
from tests.unit.planning.database import FakeDatabase
from tests.unit.planning.world_objects import Body, Pod, Workload


def node_of(body: Body) -> str:
    """Return the node that a member's pods run on: each has one of its own, and its volume is there."""
    return f"node-{body.pool}-{body.ordinal}"


def checksum(config: dict[str, str] | None) -> str:
    return "sum:" + ",".join(f"{name}={value}" for name, value in sorted((config or {}).items()))


class FakeKubernetes(FakeDatabase):
    """The machinery that brings pods up and down."""

    def step_kubernetes(self) -> None:
        for body in list(self.bodies.values()):
            if body.claim is not None and not body.claim.capacity:
                provided = body.claim.storage_class not in self.unprovided
                body.claim.capacity = body.claim.requested if provided else 0
            elif body.claim is not None and body.claim.capacity < body.claim.requested and self.expandable:
                body.claim.capacity = body.claim.requested
            if body.workload is not None:
                body.workload.observed = True
            self.step_pod(body)
            if body.workload is None and body.pod is None and body.claim is None:
                del self.bodies[body.name]

    def step_pod(self, body: Body) -> None:
        pod, workload = body.pod, body.workload
        wanted = workload is not None and workload.replicas > 0
        if pod is None:
            if wanted and workload is not None and not self.refused_inputs & set(workload.inputs.items()):
                self.start(body, workload)
        elif pod.terminating or not wanted:
            self.stop(body, pod)
        else:
            self.go_on(body, pod)

    def stop(self, body: Body, pod: Pod) -> None:
        if pod.terminating and body.name not in self.stuck and pod.node not in self.dead_nodes:
            body.pod = None
            if body.claim is None:
                self.wipe(body)
        pod.terminating, pod.ready = True, False

    def go_on(self, body: Body, pod: Pod) -> None:
        if pod.node in self.dead_nodes:
            pod.ready, pod.running, pod.steps = False, False, 0
            return
        pod.trouble = self.trouble(body, pod)
        pod.node = "" if pod.trouble.startswith("Unschedulable") else node_of(body)
        pod.zone = f"zone-{body.ordinal % self.zones}" if self.zones and pod.node else ""
        pod.running = not pod.trouble
        if pod.agent:
            self.step_process(body, pod)
            if pod.process not in ("starting", "running"):
                pod.ready, pod.steps = False, 0
                return
        if pod.trouble or self.bereft(body, pod):
            pod.ready, pod.steps = False, 0
            return
        if pod.granted and not self.identity and self.may_form:
            self.identity, self.voters = f"identity-{next(self.ids)}", {body.name}
            pod.steps = 2
        elif pod.steps < 2 and self.may_join(body, pod):
            pod.steps += 1
        pod.ready = pod.steps >= 2 and self.available
        if pod.ready:
            body.disk_version = max(body.disk_version, pod.version, key=parse)

    def bereft(self, body: Body, pod: Pod) -> bool:
        """Return whether a starting container finds another configuration than that of its pod's template."""
        wanted, found = self.configured(pod.inputs), self.configured(body.config or {})
        return not pod.agent and pod.steps == 0 and wanted != found

    def configured(self, inputs: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in inputs.items() if name.startswith("config/")}

    def step_process(self, body: Body, pod: Pod) -> None:
        wanted = checksum(body.config)
        if pod.mounted != wanted and self.now >= pod.arrives:
            pod.mounted = wanted
        crashing, starts = pod.trouble.startswith("CrashLoop"), pod.phase in ("start", "start-coordinated")
        if crashing and starts and pod.mounted == wanted:
            pod.runs, pod.given = wanted, dict(body.config or {})  # What the phase says, when the container is back.
        if pod.process == "stopping":
            pod.process = "stopped"
        elif pod.process == "starting":
            pod.process = "running"

    def may_join(self, body: Body, pod: Pod) -> bool:
        if self.hang & set((pod.given or pod.inputs).items()) or not self.identity:
            return False
        nodes = self.joined().values()
        elects = not self.available and body.name in self.voters
        return elects or not nodes or any(not newer(n.version, pod.version) for n in nodes)

    def trouble(self, body: Body, pod: Pod) -> str:
        bound = body.claim is not None and node_of(body) in self.dead_nodes
        if body.claim is not None and not body.claim.capacity:
            return "Unschedulable: 0/4 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
        if body.name in self.unschedulable or bound:
            return f"Unschedulable: {self.scheduler_says}"
        if body.name in self.stumbling:
            return "CrashLoopBackOff: back-off restarting failed container: killed"
        if self.crash & set((pod.given or pod.inputs).items()) and pod.process in ("starting", "running"):
            return "CrashLoopBackOff: it ended with code 1"
        if newer(body.disk_version, pod.version):
            return "CrashLoopBackOff: Could not load codec"
        return ""

    def start(self, body: Body, workload: Workload) -> None:
        body.pod = Pod(
            uid=f"pod-{next(self.ids)}",
            inputs=dict(workload.inputs),
            version=workload.version,
            created=self.now,
            voting=workload.voting,
            data=workload.data,
            candidate=workload.candidate,
            agent=self.agents,
            mounted=checksum(body.config),
            said=checksum(body.config) if self.agents else "",
            runs=checksum(body.config),
        )
        self.restarts[body.name] = self.restarts.get(body.name, 0) + 1

    def wipe(self, body: Body) -> None:
        """Lose everything that the member's disk held."""
        body.disk_version = ""
        for index in self.indices:
            index.current.discard(body.name)
        self.check_data()

    def check_data(self) -> None:
        """Check whether data was lost permanently."""
        lost = [i.name for i in self.indices if not i.current]
        assert self.lossy or not lost, f"{lost} is lost for ever"
