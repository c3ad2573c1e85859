"""`python -m sandbox.volumes KUBECONFIG NODES_DIRECTORY`: provision until ended."""

import http.client
import sys
import threading
import time
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.kubeapi import KubeApi
from sandbox.volumes.provisioner import CLAIMS, VOLUMES, Provisioner

# Everything is looked at again this often, in seconds, so that nothing missed stays missed.
_RESYNC = 20


def _follow(api: KubeApi, path: str, changed: threading.Event) -> None:
    while True:
        try:
            for _ in api.watch(path, seconds=300):
                changed.set()
        except (OSError, http.client.HTTPException, SandboxError, ValueError) as error:
            sys.stderr.write(f"watch of {path}: {error}\n")
            time.sleep(1)  # the API server is away; ask it once a second
        changed.set()


def main(kubeconfig: str, nodes: str) -> None:
    """Look at all claims and volumes whenever one has changed."""
    api = KubeApi(Path(kubeconfig))
    provisioner = Provisioner(api, Path(nodes))
    changed = threading.Event()
    for path in (CLAIMS, VOLUMES):
        threading.Thread(target=_follow, args=(api, path, changed), daemon=True).start()
    while True:
        changed.clear()
        try:
            provisioner.look()
        except (OSError, http.client.HTTPException, SandboxError) as error:
            sys.stderr.write(f"{error}\n")
            changed.wait(1)
            continue
        changed.wait(_RESYNC)


if __name__ == "__main__":
    main(*sys.argv[1:])
