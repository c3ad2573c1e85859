"""The operator's calls to the agents of a world, over a network that may fail."""

from collections.abc import Callable

from stateward.engines.connection.base import UnreachableError
from stateward.operator.databases.agents import PATIENCE, Access, AgentError, AgentRefusedError, Peer
from stateward.operator.security.credentials import agent_name
from stateward.planning.model.process import Process
from stateward.simulation.cluster.agents import UP, Agent, Agents, Refused
from stateward.simulation.opensearch.http import Wire

Stopping = Callable[[Agent], None]


class WorldAgents:
    """`Agents` of the operator for the model; `stopping` is called for each process right before its stop."""

    def __init__(self, agents: Agents, wire: Wire, node_reachable: Callable[[str], bool], stopping: Stopping) -> None:
        self._agents = agents
        self._wire = wire
        self._node_reachable = node_reachable
        self._stopping = stopping

    async def ask(self, access: Access, peer: Peer) -> Process:  # noqa: ARG002 - the model has no authentication
        """Return the agent's answer about its process."""
        said = (await self._reach(peer)).said()
        await self._back()
        return said

    async def stop(self, access: Access, peer: Peer) -> None:  # noqa: ARG002
        """Stop the process; it may not have ended yet."""
        agent = await self._reach(peer)
        if agent.state in UP:
            self._stopping(agent)
        agent.stop_process()
        self._wire.command_done("stop process")
        await self._back()

    async def start(self, access: Access, peer: Peer, checksum: str) -> None:  # noqa: ARG002
        """Start the process with exactly this configuration, or with the mounted one if it is empty."""
        agent = await self._reach(peer)
        try:
            agent.start_process(checksum)
        except Refused as error:
            raise AgentRefusedError(f"its agent at {peer.address} refuses: 409, {error}") from error
        self._wire.command_done("start process")
        await self._back()

    async def _reach(self, peer: Peer) -> Agent:
        self._wire.alive()
        try:
            await self._wire.reach(PATIENCE)
        except UnreachableError as error:
            raise AgentError(f"its agent at {peer.address} cannot be reached: {error}") from error
        agent = self._agents.at(peer.address)
        if agent is None or not self._node_reachable(agent.container.node):
            raise AgentError(f"its agent at {peer.address} cannot be asked: connection refused")
        pod = agent.container.pod
        if agent_name(pod.namespace, pod.name.removesuffix("-0")) != peer.name:
            raise AgentError(f"its agent at {peer.address} cannot be asked: it proves another name")
        return agent

    async def _back(self) -> None:
        try:
            await self._wire.back()
        except UnreachableError as error:
            raise AgentError(f"the agent's answer is lost: {error}") from error
