"""`python -m sandbox.policies KUBECONFIG SUBNET`: keep the node's table as the policies say, until ended."""

import subprocess
import sys
from ipaddress import IPv4Network
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.kubernetes.following import follow
from sandbox.kubernetes.kubeapi import KubeApi
from sandbox.policies.decisions import known, table

POLICIES, PODS, NAMESPACES = "/apis/networking.k8s.io/v1/networkpolicies", "/api/v1/pods", "/api/v1/namespaces"


class Enforcer:
    """Replaces the table when it has to be another one."""

    def __init__(self, api: KubeApi, subnet: IPv4Network) -> None:
        self._api, self._subnet = api, subnet
        self._loaded = ""

    def look(self) -> None:
        """Read everything once, and load the table if it is not the one that is loaded; raises SandboxError."""
        policies = self._api.items(POLICIES)
        # Without a policy no pod matters: most sandboxes have none, and pods change all the time.
        others = [self._api.items(path) if policies else [] for path in (PODS, NAMESPACES)]
        text = table(known(policies, *others), self._subnet)
        if text != self._loaded:
            done = subprocess.run(["nft", "-f", "-"], input=text, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise SandboxError(f"nft refused the table: {done.stderr.strip()[:500]}")
            self._loaded = text


def main(kubeconfig: str, subnet: str) -> None:
    """Look whenever a policy, a pod or a namespace has changed."""
    api = KubeApi(Path(kubeconfig))
    follow(api, (POLICIES, PODS, NAMESPACES), Enforcer(api, IPv4Network(subnet)).look)


if __name__ == "__main__":
    main(*sys.argv[1:])
