"""Names for what each process of a parallel test run has for itself."""

import os


def own_name(name: str) -> str:
    """Return a name that no other process of this test run uses; without pytest-xdist it is the name itself."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    return f"{name}-{worker}" if worker else name
