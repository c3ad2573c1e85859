"""What the machine must offer before anything is begun."""

from sandbox.layout import Layout
from sandbox.progress import Progress
from sandbox.settings import Settings


def require_machine(layout: Layout, wanted: Settings, progress: Progress) -> None:
    """Raise SandboxError if the sandbox cannot run here; install the system packages that are missing."""
