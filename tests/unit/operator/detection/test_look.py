"""How a look for missing members enters a secured database."""

import base64
from typing import Any, cast

from stateward.api.kinds.search import (
    ElasticsearchCluster,
    ElasticsearchSpec,
    OpenSearchCluster,
    OpenSearchSpec,
    SearchCluster,
)
from stateward.api.kinds.security import Security
from stateward.api.values.base import Metadata
from stateward.engines.search.configuration import xpack
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.operator.detection.look import access


class Secrets:
    """A server that has the Secrets of clusters, but for those whose name begins with `new`."""

    def __init__(self, engine: str, **files: str) -> None:
        self.labels = {"stateward.dev/cluster": "logs", "stateward.dev/engine": engine}
        self.data = {name: base64.b64encode(text.encode()).decode() for name, text in files.items()}
        self.asked: list[Key] = []

    async def get(self, _: object, key: Key) -> dict[str, Any]:
        self.asked.append(key)
        if key.name.startswith("new"):
            raise NotFound("no such Secret")
        return {"metadata": {"name": key.name, "namespace": key.namespace, "labels": self.labels}, "data": self.data}


CERTIFICATES = {"tls.crt": "c", "tls.key": "k", "ca.crt": "t"}


def opensearch(name: str = "logs", *, enabled: bool = True) -> SearchCluster:
    spec = OpenSearchSpec(version="2.19.5", pools=[], security=Security(enabled=enabled))
    return OpenSearchCluster(metadata=Metadata(name=name, namespace="data", uid=name), spec=spec)


async def test_it_enters_opensearch_with_the_operators_own_certificate() -> None:
    made = Secrets("opensearch", **CERTIFICATES)
    secrets = cast("Api", made)
    found = await access(secrets, opensearch())
    assert found is not None
    assert (found.trusted, found.certificate, found.key, found.user) == ("t", "c", "k", "")
    assert await access(secrets, opensearch("new")) is None
    assert len(made.asked) == 2
    assert await access(secrets, opensearch(enabled=False)) is None
    assert len(made.asked) == 2
    made.labels.clear()
    assert await access(secrets, opensearch()) is None, "it belongs to another owner"


async def test_it_enters_elasticsearch_with_the_operators_password() -> None:
    """That database authenticates no user by a certificate: without the password it refuses each look."""
    made = Secrets("elasticsearch", **CERTIFICATES, password="p")
    spec = ElasticsearchSpec(version="8.17.0", pools=[], security=Security(enabled=True))
    asked = ElasticsearchCluster(metadata=Metadata(name="logs", namespace="data", uid="logs"), spec=spec)
    found = await access(cast("Api", made), asked)
    assert found is not None
    assert (found.user, found.password, found.certificate) == (xpack.OPERATOR, "p", "c")
    made.data.clear()
    assert await access(cast("Api", made), asked) is None, "someone has emptied it"
