"""Pods of FoundationDB in the world in memory: they form a database, come back, and lose what only their disks had."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stateward.api.values import names
from stateward.engines.connection.base import UnreachableError
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.opensearch.http import Wire
from stateward.simulation.timing.loop import run_virtual
from stateward.simulation.world.foundationdb_shell import WorldShell
from stateward.simulation.world.world import NAMESPACE, Layout, World

NAMES = [f"logs-storage-{number}" for number in range(4)]
HOSTS = [f"{name}-0.logs-members.{NAMESPACE}.svc:4500" for name in NAMES]
FILE = f"data_logs:first@{','.join(HOSTS[:3])}\n"


class Group:
    """Four members of all classes, the first three of which are coordinators."""

    def __init__(self, world: World, *, agents: bool = False) -> None:
        self.world = world
        self.annotations = {names.ANNOTATION_AGENT: "1"} if agents else {}
        self.shell = WorldShell(world.foundationdb, Wire(world.context.stream("test"), world.context.count))
        self.cluster_file(FILE, "create")
        for name in NAMES:
            self.member(name)

    def cluster_file(self, text: str, verb: str = "apply") -> None:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "logs-cluster-file"},
            "data": {"fdb.cluster": text},
        }
        if verb == "create":
            self.world.server.create("/configmaps", NAMESPACE, body)
            return
        stored = self.world.store.get("/configmaps", Key(NAMESPACE, "logs-cluster-file"))
        assert stored is not None
        self.world.context.change(stored, ("data",), body["data"])

    def member(self, name: str, version: str = "7.1.67", processes: int = 1) -> None:
        files = {"arguments": "--class\nunset\n--knob_a=b\n", "processes": f"{processes}\n"}
        data = {key: base64.b64encode(text.encode()).decode() for key, text in files.items()}
        self.world.server.create("/secrets", NAMESPACE, {**head("v1", "Secret", name), "data": data})
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        body = {**head("v1", "PersistentVolumeClaim", f"data-{name}"), "spec": claim}
        self.world.server.create("/persistentvolumeclaims", NAMESPACE, body)
        container = {
            "name": "foundationdb",
            "image": f"docker.io/foundationdb/foundationdb:{version}",
            "env": [{"name": "STATEWARD_MEMBER", "value": name}, {"name": "STATEWARD_DOMAIN", "value": name}],
        }
        volumes = [
            {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}},
            {"name": "config", "secret": {"secretName": name}},
            {"name": "cluster", "configMap": {"name": "logs-cluster-file"}},
        ]
        template = {
            "metadata": {"labels": {"app": name}, "annotations": self.annotations},
            "spec": {"containers": [container], "volumes": volumes},
        }
        spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
        spec |= {"updateStrategy": {"type": "OnDelete"}, "serviceName": "logs-members"}
        self.world.server.create("apps/statefulsets", NAMESPACE, {**head("apps/v1", "StatefulSet", name), "spec": spec})

    async def run(self, command: str, member: str = NAMES[0], seconds: int = 30) -> tuple[int, str]:
        printed = await self.shell.run(f"{NAMESPACE}/{member}-0", command, seconds)
        return printed.code, printed.output

    async def status(self, member: str = NAMES[0]) -> Any:
        return json.loads((await self.run("status json", member))[1])

    async def whole(self, member: str = NAMES[0]) -> bool:
        cluster = (await self.status(member))["cluster"]
        recovered = cluster.get("recovery_state", {}).get("name") == "fully_recovered"
        return recovered and bool(cluster.get("full_replication"))

    async def made(self) -> None:
        await asyncio.sleep(60)
        assert (await self.run("configure new double ssd"))[1] == "Database created\n"
        await asyncio.sleep(30)
        assert await self.whole()

    def delete(self, name: str, kind: str = "/pods") -> None:
        stored = self.world.store.get(kind, Key(NAMESPACE, name))
        assert stored is not None
        self.world.server.delete(kind, stored.key, DeleteOptions(Preconditions(stored.uid)))

    def pod(self, name: str) -> Stored:
        stored = self.world.store.get("/pods", Key(NAMESPACE, f"{name}-0"))
        assert stored is not None
        return stored

    def address(self, name: str) -> str:
        return str(self.pod(name).doc["status"].get("podIP", ""))

    def ready(self, name: str) -> bool:
        found = {c["type"]: c["status"] for c in self.pod(name).doc["status"]["conditions"]}
        return found["Ready"] == "True"

    def restart(self, name: str) -> None:
        self.delete(f"{name}-0")

    def forget(self, name: str) -> None:
        """Take a member away with all that it has."""
        self.delete(name, "apps/statefulsets")
        self.delete(f"{name}-0")
        self.delete(f"data-{name}", "/persistentvolumeclaims")
        self.delete(name, "/secrets")


def head(version: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


def live(scenario: Callable[[Group], Awaitable[None]], *, agents: bool = False) -> None:
    """Run a scenario in a world without random faults."""

    async def go() -> None:
        await scenario(Group(World(7, Layout(capacity=1), asyncio.get_running_loop()), agents=agents))

    run_virtual(go())


def test_pods_form_a_database_and_come_back_with_their_data_and_their_votes() -> None:
    async def scenario(group: Group) -> None:
        await group.made()
        for name in NAMES[1:]:
            group.restart(name)
            await asyncio.sleep(60)
            assert await group.whole()
        for name in NAMES[:2]:
            group.restart(name)
        await asyncio.sleep(3)
        assert not (await group.status(NAMES[3]))["client"]["coordinators"]["quorum_reachable"]
        await asyncio.sleep(60)
        assert await group.whole(NAMES[3])
        assert not group.world.databases.damage.losses

    live(scenario)


def test_all_processes_are_killed_and_started_again_in_their_pods() -> None:
    async def scenario(group: Group) -> None:
        await group.made()
        pods = {pod.uid for pod in group.world.store.all("/pods")}
        assert (await group.run("kill; kill all; sleep 5"))[0] == 0
        await asyncio.sleep(30)
        assert await group.whole()
        assert {pod.uid for pod in group.world.store.all("/pods")} == pods
        assert max(p["uptime_seconds"] for p in (await group.status())["cluster"]["processes"].values()) < 40

    live(scenario)


def test_a_pod_with_an_old_cluster_file_finds_the_others_while_coordinators_of_before_run() -> None:
    async def scenario(group: Group) -> None:
        await group.made()
        command = f"coordinators {' '.join(HOSTS[1:])}"
        assert (await group.run(command))[1] == "Coordination state changed\n"
        group.restart(NAMES[3])
        await asyncio.sleep(60)
        assert await group.whole(NAMES[3])

    live(scenario)


def test_a_pod_whose_cluster_file_leads_nowhere_joins_when_it_is_right() -> None:
    async def scenario(group: Group) -> None:
        await group.made()
        group.cluster_file("data_logs:gone@10.0.0.1:4500\n")
        await asyncio.sleep(60)
        group.restart(NAMES[3])
        await asyncio.sleep(60)
        found = (await group.status())["cluster"]["processes"].values()
        assert NAMES[3] not in {p["locality"].get("instance_id") for p in found}
        group.cluster_file(FILE)
        await asyncio.sleep(60)
        found = (await group.status())["cluster"]["processes"].values()
        assert NAMES[3] in {p["locality"].get("instance_id") for p in found}

    live(scenario)


def test_a_pod_whose_process_was_away_for_a_moment_is_ready_when_it_is_back() -> None:
    async def scenario(group: Group) -> None:
        await group.made()
        for name in NAMES:
            group.restart(name)
        for _ in range(30):
            await asyncio.sleep(0.7)
            group.world.foundationdb.pods[Key(NAMESPACE, f"{NAMES[3]}-0")].killed(f"{group.address(NAMES[3])}:4500")
        await asyncio.sleep(60)
        assert all(group.ready(name) for name in NAMES)

    live(scenario)


@pytest.mark.parametrize("agents", [False, True])
def test_a_pod_that_was_ending_when_its_machine_lost_power_is_gone_when_it_is_back(*, agents: bool) -> None:
    async def scenario(group: Group) -> None:
        await group.made()
        pod = group.world.foundationdb.pods[Key(NAMESPACE, f"{NAMES[3]}-0")]
        before = group.pod(NAMES[3]).uid
        group.restart(NAMES[3])
        await asyncio.sleep(0.15)
        group.world.nodes.lose(pod.container.node, power=True)
        await asyncio.sleep(30)
        group.world.nodes.restore(pod.container.node)
        await asyncio.sleep(90)
        assert group.pod(NAMES[3]).uid != before
        assert await group.whole()

    live(scenario, agents=agents)


def test_what_is_only_on_disks_that_go_is_lost_and_counted() -> None:
    async def scenario(group: Group) -> None:
        await group.made()
        for name in NAMES[:2]:
            group.forget(name)
        await asyncio.sleep(60)
        assert group.world.databases.damage.losses

    live(scenario)


def test_a_member_that_was_emptied_takes_nothing_along() -> None:
    async def scenario(group: Group) -> None:
        await group.made()
        assert "safe to remove" in (await group.run(f"exclude locality_instance_id:{NAMES[3]}", seconds=120))[1]
        await asyncio.sleep(20)
        group.forget(NAMES[3])
        await asyncio.sleep(60)
        assert not group.world.databases.damage.losses
        assert await group.whole()

    live(scenario)


def test_members_that_are_recreated_coordinate_on_the_disks_that_they_have_then() -> None:
    async def scenario(group: Group) -> None:
        await group.made()
        for number in (0, 1, 3):
            others = [host for host in HOSTS if host != HOSTS[number]]
            asked = next(name for name in NAMES if name != NAMES[number])
            assert (await group.run(f"coordinators {' '.join(others)}", asked))[0] == 0
            await asyncio.sleep(30)
            printed = await group.run(f"exclude locality_instance_id:{NAMES[number]}", asked, seconds=120)
            assert "safe to remove" in printed[1]
            await asyncio.sleep(20)
            group.forget(NAMES[number])
            await asyncio.sleep(60)
            assert not group.world.databases.damage.losses
            await group.run("include all", asked)
            group.cluster_file(group.world.foundationdb.pods[group.pod(asked).key].file)
            await asyncio.sleep(60)
            group.member(NAMES[number])
            await asyncio.sleep(60)

    live(scenario)


def test_a_node_whose_processes_reach_no_member_is_silent_and_comes_back() -> None:
    async def scenario(group: Group) -> None:
        await group.made()
        node = group.world.foundationdb.pods[Key(NAMESPACE, f"{NAMES[3]}-0")].container.node
        group.world.isolate(node, on=True)
        await asyncio.sleep(5)
        found = (await group.status())["cluster"]
        assert found["messages"][0]["name"] == "unreachable_processes"
        group.world.isolate(node, on=False)
        await asyncio.sleep(20)
        assert await group.whole()

    live(scenario)


def test_no_command_runs_in_a_pod_that_is_not_there() -> None:
    async def scenario(group: Group) -> None:
        await group.made()
        with pytest.raises(UnreachableError):
            await group.run("status json", "logs-storage-9")

    live(scenario)


def test_a_command_in_a_pod_without_the_programs_that_it_wants_runs_those_of_its_image() -> None:
    async def scenario(group: Group) -> None:
        await group.made()
        (pod,) = [pod for pod in group.world.foundationdb.pods.values() if pod.container.pod.name == f"{NAMES[3]}-0"]
        pod.version = ""
        assert (await group.status(NAMES[3]))["client"]["coordinators"]["quorum_reachable"]

    live(scenario)
