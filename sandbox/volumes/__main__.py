"""`python -m sandbox.volumes KUBECONFIG NODES_DIRECTORY`, or in a node `KUBECONFIG --node NAME`: provision until ended.

The first makes directories, the second file systems.
"""

import sys
from pathlib import Path

from sandbox.kubernetes.following import follow
from sandbox.kubernetes.kubeapi import KubeApi
from sandbox.layout import NodeLayout
from sandbox.volumes.backing import Directories, FileSystems
from sandbox.volumes.decisions import DIRECTORY_IN_NODE
from sandbox.volumes.names import LIMITED_PROVISIONER, PROVISIONER
from sandbox.volumes.provisioner import CLAIMS, VOLUMES, Provisioner


def main(kubeconfig: str, *where: str) -> None:
    """Look at all claims and volumes whenever one has changed."""
    api = KubeApi(Path(kubeconfig))
    if where[0] == "--node":
        directories = {where[1]: Path(DIRECTORY_IN_NODE)}
        provisioner = Provisioner(api, LIMITED_PROVISIONER, FileSystems(), directories.get)
    else:
        nodes = Path(where[0])
        provisioner = Provisioner(api, PROVISIONER, Directories(), lambda node: NodeLayout(nodes / node).volumes)
    follow(api, (CLAIMS, VOLUMES), provisioner.look)


if __name__ == "__main__":
    main(*sys.argv[1:])
