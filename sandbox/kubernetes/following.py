"""How a helper of the sandbox follows the API server: everything is read again whenever something has changed."""

import http.client
import sys
import threading
import time
from collections.abc import Callable, Sequence

from sandbox.errors import SandboxError
from sandbox.kubernetes.kubeapi import KubeApi

# Everything is looked at again this often, in seconds, so that nothing missed stays missed.
_RESYNC = 20


def follow(api: KubeApi, paths: Sequence[str], look: Callable[[], None]) -> None:
    """Call `look` now and whenever an object of the collections at `paths` has changed; never returns."""
    changed = threading.Event()
    for path in paths:
        threading.Thread(target=_watch, args=(api, path, changed), daemon=True).start()
    while True:
        changed.clear()
        try:
            look()
        except (OSError, http.client.HTTPException, SandboxError) as error:
            sys.stderr.write(f"{error}\n")
            changed.wait(1)
            continue
        changed.wait(_RESYNC)


def _watch(api: KubeApi, path: str, changed: threading.Event) -> None:
    while True:
        try:
            for _ in api.watch(path, seconds=300):
                changed.set()
        except (OSError, http.client.HTTPException, SandboxError, ValueError) as error:
            sys.stderr.write(f"watch of {path}: {error}\n")
            time.sleep(1)  # the API server is away; ask it once a second
        changed.set()
