"""The agent's answer about the database process in its pod."""

from enum import StrEnum

from msgspec import Struct

AGENT_PATIENCE = 60.0
"""Seconds without an answer of its agent after which a pod is recreated: a container needs some to restart."""


class ProcessState(StrEnum):
    """What the database process is doing, in the agent's words."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    EXITED = "exited"


class Process(Struct, frozen=True, tag=True):
    """One answer of an agent. Checksums are empty if there is none."""

    state: ProcessState
    mounted: str
    """Of the configuration that is mounted in the pod now."""
    running: str
    """Checksum of the configuration that the process was started with; empty while none runs."""
    version: str = ""
    """Of the agent."""
    problem: str = ""
    """Why the mounted configuration cannot be read; empty if it can."""

    @property
    def lateness(self) -> str:
        """Why the configuration that was written for it is not what its agent has, as a clause."""
        if self.problem:
            return f"the configuration in its pod cannot be read: {self.problem}"
        return "the kubelet has not updated the configuration in its pod yet"
