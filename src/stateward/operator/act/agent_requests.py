"""Requests to the agents of one cluster: the state that a plan needs, and the steps that it decides."""

import asyncio
from collections.abc import Iterable

from stateward.kube.objects.errors import ApiError
from stateward.operator.databases.agents import Access, AgentError, Agents, MutualRejectionError, Peer
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.ownership import NotOwnedError
from stateward.operator.security.credentials import Credentials, agent_name
from stateward.planning.model.observation import Member, Unknown
from stateward.planning.model.process import Process


class AgentRequests:
    """The operator's connection to agents; without `agents` none of them answers."""

    def __init__(self, agents: Agents | None, credentials: Credentials) -> None:
        self._agents = agents
        self.credentials = credentials

    async def ask(self, existing: ClusterObjects, members: Iterable[Member]) -> dict[str, Process | Unknown]:
        """Return what the agents of these members say, each by itself: what one does not answer is unknown."""
        asked = list(members)
        answers = await asyncio.gather(*(self._ask(existing, member) for member in asked))
        return {member.name: answer for member, answer in zip(asked, answers, strict=True)}

    async def stop(self, existing: ClusterObjects, member: str, address: str) -> None:
        """Have a member's process stopped; raises AgentError, ApiError, NotOwnedError."""
        agents, access = await self._prepared(existing, member)
        await agents.stop(access, self._peer(existing, member, address))

    async def start(self, existing: ClusterObjects, member: str, address: str, checksum: str) -> None:
        """Have a member's process started; raises AgentError, ApiError, NotOwnedError."""
        agents, access = await self._prepared(existing, member)
        await agents.start(access, self._peer(existing, member, address), checksum)

    async def _ask(self, existing: ClusterObjects, member: Member) -> Process | Unknown:
        address = member.pod.ip if member.pod is not None else ""
        if not address:
            return Unknown("its pod has no address yet")
        try:
            agents, access = await self._ready(existing, member.name)
            return await agents.ask(access, self._peer(existing, member.name, address))
        except (AgentError, ApiError, NotOwnedError) as error:
            if isinstance(error, MutualRejectionError):
                self.credentials.request_check(existing.cluster, member.name)
            return Unknown(str(error))

    async def _prepared(self, existing: ClusterObjects, member: str) -> tuple[Agents, Access]:
        """Return the connection for a step, which must not wait for a Secret that someone has deleted."""
        await self.credentials.prepare(existing.cluster)
        return await self._ready(existing, member)

    async def _ready(self, existing: ClusterObjects, member: str) -> tuple[Agents, Access]:
        if self._agents is None:
            raise AgentError("this operator has no connection to agents")
        return self._agents, await self.credentials.access(existing.cluster, member)

    def _peer(self, existing: ClusterObjects, member: str, address: str) -> Peer:
        return Peer(address, agent_name(existing.cluster.metadata.namespace, member))
