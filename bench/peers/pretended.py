"""`python -m bench.peers.pretended KUBECONFIG`: databases and volumes of ECK's clusters, until ended; says `ready`."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from bench.clusters.world import volumes
from bench.clusters.world.doors import WHOLE_SECRETS, Doors, Secret
from bench.clusters.world.following import follow
from bench.peers.elasticsearch import LABEL_CLUSTER, PORT, Databases
from stateward import pki
from stateward.kube.access.config import connect
from stateward.kube.cache.deltas import Delta
from stateward.kube.cache.reflector import Reflector
from stateward.kube.cache.store import Store
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import CLAIMS, PODS
from stateward.kube.objects.secret_content import text_content
from stateward.kube.objects.storage import PersistentVolumeClaim
from stateward.pki.files import CERTIFICATE, KEY

_SUFFIX = "-es-http-certs-internal"


async def pretend(kubeconfig: Path) -> None:
    """Pretend until a signal asks to stop."""
    databases = Databases()
    doors = Doors(databases.answer, PORT)

    def certified(delta: Delta[Secret]) -> None:
        if delta.new is not None and delta.key.name.endswith(_SUFFIX):
            files = text_content({"data": delta.new.data})
            doors.present(delta.key.name.removesuffix(_SUFFIX), pki.Pair(files[CERTIFICATE], files[KEY]))

    async with HttpApi(connect(kubeconfig=str(kubeconfig))) as api:
        await volumes.create_class(api)
        pods, claims, secrets = Store[Pod]("pods"), Store[PersistentVolumeClaim]("claims"), Store[Secret]("secrets")
        pods.subscribe(databases.heard)
        secrets.subscribe(certified)
        volumes.Volumes(api, claims)
        ours = Selection(labels=LABEL_CLUSTER)
        endless = [
            Reflector(api, PODS, ours, pods).run(),
            Reflector(api, CLAIMS, ours, claims).run(),
            Reflector(api, WHOLE_SECRETS, ours, secrets).run(),
        ]
        stores: list[Store[Any]] = [pods, claims, secrets]
        try:
            await follow(endless, stores, doors)
        finally:
            await doors.close()


if __name__ == "__main__":
    asyncio.run(pretend(Path(sys.argv[1])))
