"""The faults, each with its end: real ones, on the sandbox's processes, network and files."""

import asyncio
import base64
import json
import subprocess
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import yaml
from msgspec import Struct

from sandbox import Sandbox
from sandbox.toolchain.native import build_native
from stateward.kube.objects.errors import ApiError
from tests.chaos.schedule import Fault
from tests.chaos.world import DATA, PAUSE, RECENT, ZONES, World, picked, wait, zone_of
from tests.e2e.failing import lose_pod, remove_volume
from tests.e2e.operators import DEPLOYED, NAMESPACE

CERTIFICATE_LIFETIME = 360.0
"""Seconds that the certificates of a secured run are valid: without an operator they expire within the run."""
CLOCK = "/clock"


class Aim(Struct, frozen=True):
    """For how long a fault lasts, and what it hits: `pick` chooses among what there is in the zones."""

    seconds: float
    pick: float
    zones: Collection[str] = ZONES


Block = Callable[[World, Aim], AbstractAsyncContextManager[str]]
"""A fault: a block that ends with it, and tells what it hit."""


@asynccontextmanager
async def operator_killed(world: World, aim: Aim) -> AsyncGenerator[str]:
    """End the operator again and again without grace, every seven seconds."""
    for _ in range(max(1, int(aim.seconds / 7))):
        with suppress(TimeoutError, ApiError):
            await world.operator.kill()
        await wait(7)
    yield "operator"


def on_a_node(breaks: Callable[[Sandbox, str], None], mends: Callable[[Sandbox, str], None]) -> Block:
    """Return the fault that breaks something of a node, and mends it in the end."""

    @asynccontextmanager
    async def block(world: World, aim: Aim) -> AsyncGenerator[str]:
        node = picked(await world.nodes(aim.zones), aim.pick)
        await asyncio.to_thread(breaks, world.sandbox, node)
        world.hit.set()
        try:
            await wait(aim.seconds)
            yield node
        finally:
            await asyncio.to_thread(mends, world.sandbox, node)

    return block


@asynccontextmanager
async def disk_full(world: World, aim: Aim) -> AsyncGenerator[str]:
    """Let no file of a member's database grow: each write fails, as on a full disk.

    A full file system would be that of the whole machine. A limit of the process has the same effect on the database
    and on nothing else: a write fails with EFBIG instead of ENOSPC.
    """
    running = await running_databases(world, aim.zones)
    if not running:
        yield "no member, because the API server answered too late"
        return
    member = picked(sorted(running), aim.pick)
    processes = running[member]
    for process in processes:
        limit(process, "0")
    world.hit.set()
    try:
        await wait(aim.seconds)
        yield member
    finally:
        for process in processes:
            limit(process, "unlimited")


async def running_databases(world: World, zones: Collection[str]) -> dict[str, list[int]]:
    """Return the processes of the data members of these zones that run, as soon as one does.

    Return none if only one zone may be hit, and the API server answers so late that its turn may be over.
    """
    now = asyncio.get_running_loop().time
    while True:
        asked = now()
        pods = {name: pod for name, pod in (await world.pods()).items() if DATA in name and zone_of(name) in zones}
        if len(zones) == 1 and now() > asked + RECENT:
            return {}
        if running := {name: found for name, pod in pods.items() if (found := databases(pod.metadata.uid))}:
            return running
        await wait(PAUSE)


def databases(uid: str) -> list[int]:
    """Return the ids of the Java processes of a pod, by its control group."""
    marks = {f"pod{uid}", f"pod{uid.replace('-', '_')}"}
    found: list[int] = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (place / "comm").read_text().strip() == "java":
                group = (place / "cgroup").read_text()
                found += [int(place.name)] if any(mark in group for mark in marks) else []
    return found


def limit(process: int, size: str) -> None:
    """Limit the size of the files that a process writes, unless it has ended."""
    place = Path(f"/proc/{process}")
    with suppress(FileNotFoundError, ProcessLookupError):
        owner = place.stat()
        # The user of a process may limit it; root may not, where it lacks CAP_SYS_RESOURCE.
        words = ["prlimit", f"--pid={process}", f"--fsize={size}:"]
        done = subprocess.run(
            words, user=owner.st_uid, group=owner.st_gid, extra_groups=[], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or not place.exists(), done.stderr


@asynccontextmanager
async def volume_lost(world: World, aim: Aim) -> AsyncGenerator[str]:
    """Destroy the volume of a data member: the operator replaces the member."""
    member = picked(await replaceable(world), aim.pick)
    await world.answered(lambda: remove_volume(world.sandbox, world.clusters, member))
    await world.answered(lambda: lose_pod(world.clusters, member))
    world.hit.set()
    await wait(aim.seconds)
    yield member


async def replaceable(world: World) -> list[str]:
    """Return the data members that serve beside another one of their pool, as soon as there are some.

    The operator replaces no member without such a proof that an equal one starts: it waits for a person instead.
    """
    while True:
        members = await world.data_members()
        zones = [zone_of(name) for name in members]
        if found := [name for name, zone in zip(members, zones, strict=True) if zones.count(zone) > 1]:
            return found
        await wait(PAUSE)


@asynccontextmanager
async def api_server_off(world: World, aim: Aim) -> AsyncGenerator[str]:
    await asyncio.to_thread(world.sandbox.api_server_stop)
    try:
        await wait(aim.seconds)
        yield "API server"
    finally:
        await asyncio.to_thread(world.sandbox.api_server_start)


@asynccontextmanager
async def clock_moved(world: World, aim: Aim) -> AsyncGenerator[str]:
    """Let the operator start with a clock that is up to ten minutes wrong, and start again with the right one."""
    offset = int((aim.pick - 0.5) * 1200)
    await move_clock(world, offset)
    try:
        await wait(aim.seconds)
        yield f"operator, by {offset:+d} s"
    finally:
        await move_clock(world, None)


async def move_clock(world: World, offset: int | None) -> None:
    """Start the operator again with a clock that is wrong by so many seconds; None is right."""
    variables = ("LD_PRELOAD-", "CLOCK_OFFSET-")
    if offset is not None:
        variables = (f"LD_PRELOAD={CLOCK}/clock.so", f"CLOCK_OFFSET={offset}")
    await world.kubectl("-n", NAMESPACE, "set", "env", DEPLOYED, *variables)


async def mount_clock(world: World) -> None:
    """Give the operator's pods the library by which their clock is moved; without a variable it does nothing."""
    library = (build_native(world.sandbox.progress) / "clock.so").read_bytes()
    files = {"clock.so": base64.b64encode(library).decode()}
    meta = {"name": "clock", "namespace": NAMESPACE}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "binaryData": files}
    await world.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(body))
    volumes = [{"name": "clock", "configMap": {"name": "clock"}}]
    containers = [{"name": "operator", "volumeMounts": [{"name": "clock", "mountPath": CLOCK}]}]
    patch = {"spec": {"template": {"spec": {"volumes": volumes, "containers": containers}}}}
    await world.kubectl("-n", NAMESPACE, "patch", DEPLOYED, "-p", json.dumps(patch))


@asynccontextmanager
async def certificate_expired(world: World, aim: Aim) -> AsyncGenerator[str]:
    """Let all certificates expire, as nothing renews them while there is no operator."""
    await world.kubectl("-n", NAMESPACE, "scale", DEPLOYED, "--replicas=0")
    try:
        await wait(CERTIFICATE_LIFETIME + aim.seconds)
        yield "all members"
    finally:
        await world.kubectl("-n", NAMESPACE, "scale", DEPLOYED, "--replicas=1")


@asynccontextmanager
async def webhook_off(world: World, aim: Aim) -> AsyncGenerator[str]:
    """Let the webhook's Service lead nowhere."""
    await select(world, "none")
    try:
        await wait(aim.seconds)
        yield "webhook"
    finally:
        await select(world, "operator")


async def select(world: World, component: str) -> None:
    """Let the webhook's Service lead to the pods of a component."""
    patch = json.dumps({"spec": {"selector": {"app.kubernetes.io/component": component}}})
    await world.kubectl("-n", NAMESPACE, "patch", "service/stateward-webhook", "-p", patch)


FAULTS: Mapping[Fault, Block] = {
    Fault.OPERATOR_KILLED: operator_killed,
    Fault.KUBELET_STOPPED: on_a_node(Sandbox.node_stop, Sandbox.node_start),
    Fault.CONTAINERD_STOPPED: on_a_node(Sandbox.containerd_stop, Sandbox.node_start),
    Fault.NODE_OFF: on_a_node(partial(Sandbox.node_stop, with_containers=True), Sandbox.node_start),
    Fault.DISK_FULL: disk_full,
    Fault.VOLUME_LOST: volume_lost,
    Fault.NETWORK_CUT: on_a_node(Sandbox.node_cut, Sandbox.node_join),
    Fault.NETWORK_CUT_ONE_WAY: on_a_node(Sandbox.node_mute, Sandbox.node_join),
    Fault.CLOCK_MOVED: clock_moved,
    Fault.API_SERVER_OFF: api_server_off,
    Fault.CERTIFICATE_EXPIRED: certificate_expired,
    Fault.WEBHOOK_OFF: webhook_off,
}
