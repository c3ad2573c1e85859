"""Failures of members, for all engines: each member is replaced, kept or waited for, and no data is lost.

An engine is a `Subject`: which clusters are made of it, what is watched all through, and what may not be left behind.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from tests.e2e.clusters import Clusters, settled
from tests.e2e.failing import away, break_volume, gone, held, no_room, phase, ready
from tests.e2e.operators import OperatorPods

AFTER = {"enabled": True, "after": "60s"}
"""The delay of automatic replacement."""


class Subject(Protocol):
    """A kind of database, with one cluster of it in the test's namespace."""

    clusters: Clusters
    old: str
    new: str
    name: str
    """Of the cluster."""
    spec: Mapping[str, Any]
    members: int

    async def fill(self) -> None:
        """Give the new cluster something to lose."""
        ...

    def watched(self) -> AbstractAsyncContextManager[object]:
        """Watch the promises while the block runs, and fail at its end where one did not hold."""
        ...

    async def versions(self) -> Mapping[str, str]:
        """Return the version of each member that is in the database."""
        ...

    async def outside(self, member: str) -> None:
        """Fail if a released member with a running pod could still take part."""
        ...

    async def clean(self) -> None:
        """Fail where anything is left that was set in the database."""
        ...


async def begin(subject: Subject, version: str, **more: Any) -> None:
    """Make the cluster, and wait until it serves."""
    await change(subject, version, **more)
    await subject.clusters.until(subject.name, settled, seconds=600)
    await subject.fill()


async def change(subject: Subject, version: str, **more: Any) -> None:
    await subject.clusters.apply(subject.name, version=version, **subject.spec, **more)


async def a_broken_volume(subject: Subject, sandbox: Sandbox, member: str) -> Cluster:
    """Whose volume cannot be mounted any more is missed, and replaced by one with a volume of its own."""
    await begin(subject, subject.new, replacement=AFTER)
    async with subject.watched():
        await break_volume(sandbox, subject.clusters, member)
        await subject.clusters.until(subject.name, lambda c: phase(c, member) != "", seconds=300)
        done = await subject.clusters.until(subject.name, lambda c: gone(c, member), seconds=600)
    assert len(ready(done)) == subject.members
    assert member not in await subject.versions()
    await given_up(subject, member)
    await subject.clean()
    return done


async def given_up(subject: Subject, member: str) -> None:
    """Fail where the kept volume of a replaced member does not say that it was left."""
    claim = await subject.clusters.api.get(kinds.CLAIMS, Key(subject.clusters.namespace, names.claim(member)))
    assert claim is not None
    assert names.ANNOTATION_RETIRED in claim.metadata.annotations


async def a_machine_that_stays_away(subject: Subject, sandbox: Sandbox, operator: OperatorPods) -> set[str]:
    """All members of a machine are replaced, one at a time, and do no harm when it comes back; return their names."""
    await begin(subject, subject.new, replacement=AFTER)
    spared = {pod.spec.node_name for pod in await operator.pods()}
    pods = await subject.clusters.pods(subject.name)
    machine = next(pod.spec.node_name for _, pod in sorted(pods.items()) if pod.spec.node_name not in spared)
    lost = {name for name, pod in pods.items() if pod.spec.node_name == machine}

    def replaced(cluster: Cluster) -> bool:
        moving = [n for n in lost if phase(cluster, n) in ("Waiting", "Draining", "Leaving")]
        assert len(moving) <= 1, f"{moving} are replaced at the same time"
        return {phase(cluster, name) for name in lost} == {"Terminating"} and settled(cluster)

    async with subject.watched():
        with away(sandbox, machine):
            whole = await subject.clusters.until(subject.name, replaced, seconds=1200)
            assert len(ready(whole) - lost) == subject.members
        await subject.clusters.until(subject.name, lambda c: all(gone(c, name) for name in lost), seconds=300)
    assert lost.isdisjoint(await subject.versions())
    assert lost.isdisjoint(await subject.clusters.pods(subject.name))
    await subject.clean()
    return lost


async def no_room_no_end_and_an_upgrade(subject: Subject, sandbox: Sandbox, members: Sequence[str]) -> None:
    """A full quota, a pod that does not end and an upgrade each let a replacement finish; one member for each."""
    await begin(subject, subject.old)
    async with subject.watched():
        await without_room(subject, sandbox, members[0])
        await without_an_end(subject, members[1])
        await during_an_upgrade(subject, members[2])
    await subject.clean()


async def without_room(subject: Subject, sandbox: Sandbox, member: str) -> None:
    """No member leaves while its replacement is unschedulable, and the status says why; then the change continues."""
    with no_room(sandbox, subject.clusters.namespace, subject.members):
        await change(subject, subject.old, members={"replace": [member]})
        await subject.clusters.until(subject.name, lambda c: phase(c, member) == "NoRoom", seconds=180)
        assert member in await subject.versions()
    await subject.clusters.until(subject.name, lambda c: gone(c, member), seconds=300)
    await given_up(subject, member)


async def without_an_end(subject: Subject, member: str) -> None:
    """A member whose pod does not end has left the database, and holds nothing else up."""
    async with held(subject.clusters, member):
        await change(subject, subject.old, members={"replace": [member]})

        def stuck(cluster: Cluster) -> bool:
            return phase(cluster, member) == "Terminating" and settled(cluster)

        there = await subject.clusters.until(subject.name, stuck, seconds=300)
        assert len(ready(there)) == subject.members
        assert there.status.health == "green"
        await subject.outside(member)
    await subject.clusters.until(subject.name, lambda c: gone(c, member), seconds=180)
    await subject.clean()


async def during_an_upgrade(subject: Subject, member: str) -> None:
    """A member is replaced while others are recreated: one after the other, never both on the same data."""
    await change(subject, subject.new)
    begun = await subject.clusters.until(
        subject.name, lambda c: any(m.version == subject.new for m in c.status.member_states), seconds=240
    )
    assert begun.status.version == subject.old
    await change(subject, subject.new, members={"replace": [member]})
    done = await subject.clusters.until(
        subject.name, lambda c: gone(c, member) and c.status.version == subject.new, seconds=600
    )
    assert len(ready(done)) == subject.members
    assert set((await subject.versions()).values()) == {subject.new}
