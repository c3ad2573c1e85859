"""`python -m sandbox.volumes KUBECONFIG NODES_DIRECTORY`: provision until ended."""

import sys
from pathlib import Path

from sandbox.kubernetes.following import follow
from sandbox.kubernetes.kubeapi import KubeApi
from sandbox.volumes.provisioner import CLAIMS, VOLUMES, Provisioner


def main(kubeconfig: str, nodes: str) -> None:
    """Look at all claims and volumes whenever one has changed."""
    api = KubeApi(Path(kubeconfig))
    follow(api, (CLAIMS, VOLUMES), Provisioner(api, Path(nodes)).look)


if __name__ == "__main__":
    main(*sys.argv[1:])
