"""`python -m bench.clusters.world KUBECONFIG CLUSTERS MODE`: the pretended world, until ended; says `ready`."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from bench.clusters.fleet import Mode
from bench.clusters.world import volumes
from bench.clusters.world.databases import Databases
from bench.clusters.world.doors import WHOLE_SECRETS, Secret, doors
from bench.clusters.world.following import follow
from stateward.api.values import names
from stateward.kube.access.config import connect
from stateward.kube.cache.reflector import Reflector
from stateward.kube.cache.store import Store
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import CLAIMS, PODS
from stateward.kube.objects.storage import PersistentVolumeClaim


async def pretend(kubeconfig: Path, count: int, mode: Mode) -> None:
    """Pretend everything for the first `count` clusters until a signal asks to stop."""
    databases = Databases()
    async with HttpApi(connect(kubeconfig=str(kubeconfig))) as api, doors(databases, mode, count) as opened:
        await volumes.create_class(api)
        pods, claims = Store[Pod]("pods"), Store[PersistentVolumeClaim]("claims")
        pods.subscribe(databases.heard)
        volumes.Volumes(api, claims)
        ours = Selection(labels=names.LABEL_CLUSTER)
        stores: list[Store[Any]] = [pods, claims]
        endless = [
            Reflector(api, PODS, ours, pods).run(),
            Reflector(api, CLAIMS, ours, claims).run(),
        ]
        if mode is Mode.SECURED:
            secrets = Store[Secret]("secrets")
            secrets.subscribe(opened.heard)
            stores.append(secrets)
            endless.append(Reflector(api, WHOLE_SECRETS, ours, secrets).run())
        await follow(endless, stores, opened)


if __name__ == "__main__":
    asyncio.run(pretend(Path(sys.argv[1]), int(sys.argv[2]), Mode(sys.argv[3])))
