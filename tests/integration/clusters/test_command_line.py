"""Each verb as a user types it, against a real API server with a running operator."""

import asyncio
import json
import os
import sys
import tarfile
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.cli.shared.failures import ExitCode
from stateward.kube.client.client import RawRequest, WatchStart
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.watching import Added, Modified
from tests.integration.api_server import PATIENCE
from tests.integration.clusters.operator_at_work import POOLS, OperatorAtWork, operator_at_work, settled
from tests.integration.packages.newcomer import in_namespace
from tests.integration.shipped import bind, ship, subject

pytestmark = pytest.mark.integration

PROGRAMS = Path(sys.executable).parent


@dataclass
class Terminal:
    """A user's shell in a folder, with a kubeconfig whose context has the namespace."""

    folder: Path
    work: OperatorAtWork

    async def types(self, line: str, code: int = 0) -> str:
        """Return what a command prints to standard output; `code` is its exit code."""
        environment = os.environ | {"KUBECONFIG": str(self.folder / "kubeconfig"), "NO_COLOR": "1"}
        environment["PATH"] = f"{PROGRAMS}:{environment['PATH']}"
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_shell(
            line, stdout=pipe, stderr=pipe, cwd=self.folder, env=environment
        )
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
        assert process.returncode == code, f"$ {line}\n{out.decode()}\n{err.decode()}"
        return out.decode()


def change(version: str, replicas: int = 2) -> str:
    """Return the cluster's file with a version, and with so many data members."""
    pools = [POOLS[0], {**POOLS[1], "replicas": replicas}]
    spec = {"version": version, "podTemplate": {"spec": {"schedulerName": "fake"}}, "pools": pools}
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster", "metadata": {"name": "logs"}}
    return yaml.safe_dump(head | {"spec": spec})


async def test_a_user_reads_a_cluster_and_its_past_with_every_verb(control_plane: Path, tmp_path: Path) -> None:
    async with operator_at_work(control_plane) as work:
        (tmp_path / "kubeconfig").write_text(in_namespace(control_plane, work.namespace))
        user = Terminal(tmp_path, work)
        await work.apply("logs", pools=POOLS)
        await work.until("logs", settled)
        await reads(user)
        await plans(user)
        await rehearses(user)
        await work.apply("logs", pools=[POOLS[0], {**POOLS[1], "replicas": 3}])
        await work.until("logs", lambda found: settled(found) and found.status.ready == "6/6")
        await looks_back(user)
        await views(user, control_plane)
        await reports(user)


async def test_a_user_steers_a_cluster_with_every_verb(control_plane: Path, tmp_path: Path) -> None:
    async with operator_at_work(control_plane) as work:
        (tmp_path / "kubeconfig").write_text(in_namespace(control_plane, work.namespace))
        user = Terminal(tmp_path, work)
        await work.apply("logs", pools=POOLS)
        await work.until("logs", settled)
        await pauses(user)
        await recreates(user)
        await stops(user)
        await replaces(user)


async def pauses(user: Terminal) -> None:
    """Hold a change, and let it go on."""
    before = await uids(user.work)
    await user.types("stateward pause logs")
    await user.work.until("logs", is_paused)
    await user.types("stateward restart logs --recreate --pool hot")
    await user.work.until("logs", lambda found: is_held(found, {"logs-hot-0", "logs-hot-1"}))
    assert "run `resume` with the cluster's name" in await user.types("stateward explain logs")
    assert await uids(user.work) == before
    await user.types("stateward resume logs")
    await user.work.until("logs", lambda found: not is_paused(found) and settled(found))
    after = await uids(user.work)
    changed = {name for name, uid in after.items() if before[name] != uid}
    assert changed == {"logs-hot-0-0", "logs-hot-1-0"}


async def recreates(user: Terminal) -> None:
    """Recreate all pods, after those of one pool."""
    before = await uids(user.work)
    await user.types("stateward restart logs --recreate")
    found = await user.work.cluster("logs")
    await user.work.until("logs", lambda seen: seen.metadata.generation >= found.metadata.generation and settled(seen))
    after = await uids(user.work)
    assert before.keys() == after.keys()
    assert not set(before.values()) & set(after.values())


async def stops(user: Terminal) -> None:
    """Ask for a process to be kept stopped, which needs an agent, and take it back."""
    await user.types("stateward stop logs-hot-1")
    await user.work.until("logs", lambda found: any(wait.reason == "NeedsAgent" for wait in found.status.waiting))
    assert "restart --recreate" in await user.types("stateward explain logs hot-1")
    await user.types("stateward start logs-hot-1")
    await user.work.until("logs", settled)


async def replaces(user: Terminal) -> None:
    """Replace a member, and keep one after all."""
    await user.types("stateward replace logs-hot-1")
    await user.work.until(
        "logs", lambda found: settled(found) and "logs-hot-2" in {member.name for member in found.status.member_states}
    )
    await user.types("stateward keep logs-hot-0")
    assert {"logs-hot-0-0", "logs-hot-2-0"} < (await uids(user.work)).keys()


def is_paused(found: Cluster) -> bool:
    return found.spec.update is not None and found.spec.update.paused


def is_held(found: Cluster, members: set[str]) -> bool:
    """Return whether the operator has planned a change of exactly these members, and says that a pause holds it."""
    pending = {member.name for member in found.status.member_states if member.pending}
    return pending == members and any(wait.reason == "Paused" for wait in found.status.waiting)


async def uids(work: OperatorAtWork) -> dict[str, str]:
    """Return the UIDs of the cluster's pods, by name."""
    pods = await work.api.list(kinds.PODS, Selection(work.namespace, labels=f"{names.LABEL_CLUSTER}=logs"))
    return {pod.metadata.name: pod.metadata.uid for pod in pods.items}


async def reads(user: Terminal) -> None:
    """Read the cluster in each form."""
    name = "opensearchcluster.stateward.dev/logs\n"
    for verb in ("status logs", "list", "status -l '!team'", "list -l '!team'", "explain logs", "timeline logs"):
        assert await user.types(f"kubectl stateward {verb} -o name") == name
        found = json.loads(await user.types(f"stateward {verb} -o json"))
        assert verb == "timeline logs" or found == yaml.safe_load(await user.types(f"stateward {verb} -o yaml"))
    assert name in await user.types("stateward list -A -o name")
    assert "5 of 5 ready" in await user.types("stateward status logs")
    assert "VOLUME" in await user.types("stateward status logs -o wide")
    assert await user.types("stateward list -l team=search -o name") == ""
    assert "Nothing is pending." in await user.types("stateward explain logs")
    assert await user.types("stateward status nothing", ExitCode.FAILURE) == ""
    await user.types("stateward status --nothing", ExitCode.USAGE)


async def plans(user: Terminal) -> None:
    """See by the exit code alone whether something would change."""
    (user.folder / "same.yaml").write_text(change("2.19.5"))
    (user.folder / "older.yaml").write_text(change("2.11.0"))
    (user.folder / "fewer.yaml").write_text(change("2.19.5", replicas=1))
    (user.folder / "more.yaml").write_text(change("2.19.5", replicas=3))
    await user.types("stateward plan logs", ExitCode.SUCCESS)
    await user.types("stateward plan -f same.yaml", ExitCode.SUCCESS)
    assert await user.types("stateward plan -f fewer.yaml -o name", ExitCode.CHANGES) == "logs-hot-1\n"
    # No node could run a new pod here.
    assert await user.types("stateward plan -f more.yaml -o name", ExitCode.FAILURE) == "logs-hot-2\n"
    await user.types("stateward plan -f older.yaml", ExitCode.FAILURE)


async def rehearses(user: Terminal) -> None:
    """Play a change of the live cluster, and send nothing."""
    before = (await user.work.cluster("logs")).metadata.resource_version
    played = json.loads(await user.types("stateward rehearse -f fewer.yaml --runs 5 -j 1 -o json"))
    assert (played["cluster"], played["runs"], played["completed"]) == ("logs", 5, 5)
    assert played["worst"]["seconds"] >= played["seconds"]["p50"] > 0
    seed = played["worst"]["seed"]
    again = json.loads(await user.types(f"stateward rehearse -f fewer.yaml --seed {seed} -o json"))
    assert again["seed"] == seed
    assert "logs-hot-1" in await user.types("stateward rehearse -f fewer.yaml --runs 5 -j 1 --faults none")
    assert "nothing to rehearse" in await user.types("stateward rehearse logs")
    await user.types("stateward rehearse -f more.yaml --runs 5", ExitCode.FAILURE)
    assert (await user.work.cluster("logs")).metadata.resource_version == before


async def looks_back(user: Terminal) -> None:
    """See the past of the cluster."""
    # The forming of the cluster takes several rounds. A later member may be Ready before the next round sees it.
    stored = await history_with(user.work, "logs-hot-0")
    assert stored["metadata"]["ownerReferences"][0]["kind"] == "OpenSearchCluster"
    assert stored["data"][names.HISTORY_KEY].count("\n") > 3
    found = json.loads(await user.types("stateward timeline logs --all -o json"))
    phases = {(span["subject"], span["phase"]) for span in found["spans"]}
    assert ("logs-hot-0", "create") in phases
    assert any("generation" in event["message"] for event in found["events"])
    assert "logs-hot-0" in await user.types("stateward timeline logs")
    await user.types("stateward timeline logs --svg a.svg --html a.html")
    assert (user.folder / "a.svg").read_text().startswith("<svg ")
    told = json.loads(await user.types("stateward events logs -o json"))
    assert ["MemberCreated", "logs"] in [[event["reason"], event["object"]] for event in told]
    assert [event["lastSeenTime"] for event in told] == sorted(event["lastSeenTime"] for event in told)
    assert "MemberCreated" in await user.types("stateward events logs")


async def history_with(work: OperatorAtWork, text: str) -> Json:
    """Return the ConfigMap of the history once the text is in it: after several changes in a row it waits a minute."""
    selection = Selection(work.namespace, labels=f"{names.LABEL_HISTORY}=logs")
    stream = work.api.watch(kinds.CONFIG_MAPS.raw(), selection, WatchStart(initial_state=True))
    async with asyncio.timeout(PATIENCE), aclosing(stream):
        async for event in stream:
            if isinstance(event, Added | Modified) and text in event.object["data"][names.HISTORY_KEY]:
                return event.object
    raise AssertionError("the server ended the watch")


async def views(user: Terminal, control_plane: Path) -> None:
    """See that Kubernetes' own role `view` and Stateward's are enough to read the past of a cluster."""
    api, namespace = user.work.api, user.work.namespace
    await ship(api)
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "ann"}}
    await api.create(kinds.SERVICE_ACCOUNTS, body, namespace=namespace)
    for role in ("view", "stateward-view"):
        await bind(api, namespace, role, subject(namespace, "ann"))
    path = kinds.SERVICE_ACCOUNTS.path_of(Key(namespace, "ann"), "token")
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    token = json.loads(await api.request(RawRequest(path, "POST", body=asked)))["status"]["token"]
    content = yaml.safe_load(in_namespace(control_plane, namespace))
    content["users"][0]["user"] = {"token": token}
    (user.folder / "ann").write_text(yaml.safe_dump(content))
    as_ann = "--kubeconfig ann"
    assert "MemberCreated" in await user.types(f"stateward events logs {as_ann}")
    assert '"create"' in await user.types(f"stateward timeline logs --all -o json {as_ann}")
    await user.types(f"stateward explain logs hot-0 {as_ann}")
    await user.types(f"stateward plan logs {as_ann}")
    await user.types(f"stateward diagnose logs -f ann.tar.gz {as_ann}")


async def reports(user: Terminal) -> None:
    """Collect a bug report; there is no kubelet here, so pods have no logs."""
    await user.types("stateward diagnose logs -f report.tar.gz")
    with tarfile.open(user.folder / "report.tar.gz") as archive:
        files = {entry.name.partition("/")[2] for entry in archive}
    assert files >= {"README.md", "history.jsonl", "events.txt", "plan.yaml", "objects/osclusters/logs.yaml"}
    assert "objects/pods/logs-hot-0-0.yaml" in files
    await user.types("stateward logs logs --operator-namespace nowhere", ExitCode.FAILURE)
    assert await user.types("stateward logs logs hot-0") == ""
    completed = await user.types(
        "COMP_WORDS='stateward explain logs logs-hot' COMP_CWORD=3 _STATEWARD_COMPLETE=bash_complete stateward"
    )
    assert completed.split() == [f"plain,logs-hot-{number}" for number in range(3)]
