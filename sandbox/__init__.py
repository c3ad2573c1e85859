"""A throw-away, real Kubernetes on one machine.

`Sandbox` is the whole of it as a Python object; `python -m sandbox` is the same on the command line.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox.api import Sandbox
    from sandbox.errors import SandboxError

__all__ = ["Sandbox", "SandboxError"]


def __getattr__(name: str) -> Any:
    # Late, because the small processes that live inside a sandbox import parts of this package and should not
    # carry the rest in memory.
    if name == "Sandbox":
        from sandbox.api import Sandbox  # noqa: PLC0415

        return Sandbox
    if name == "SandboxError":
        from sandbox.errors import SandboxError  # noqa: PLC0415

        return SandboxError
    raise AttributeError(name)
