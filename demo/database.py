"""The database of a cluster, asked through the API server: from anywhere that kubectl works from.

The API server carries each request to one ready pod of the client Service. No address outside the cluster is used.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from stateward.kube.client.client import Api, RawRequest
from stateward.kube.objects.errors import ApiError


class NotAcknowledgedError(Exception):
    """The database, or the way to it, did not do what was asked; it may have been done all the same."""


@dataclass(frozen=True, slots=True)
class ProxiedDatabase:
    """A cluster's database behind its client Service; every method raises `NotAcknowledgedError`."""

    api: Api
    namespace: str
    service: str
    index: str = "documents"

    async def create_index(self, shards: int, replicas: int) -> None:
        """Make the index; one that is there already is used."""
        settings = {"index.number_of_shards": shards, "index.number_of_replicas": replicas}
        try:
            await self._ask("PUT", self.index, body={"settings": settings})
        except NotAcknowledgedError as error:
            if "already_exists" not in str(error):
                raise

    async def put(self, identity: str, document: dict[str, Any]) -> None:
        """Write one document, acknowledged by all copies in sync."""
        answer = await self._ask("PUT", f"{self.index}/_doc/{identity}", body=document)
        if answer.get("result") not in ("created", "updated"):
            raise NotAcknowledgedError(f"an answer without a result: {answer}")

    async def find(self, identities: list[str]) -> set[str]:
        """Return those of the documents that the database has."""
        if not identities:
            return set()
        query = {"_source": "false"}
        answer = await self._ask("POST", f"{self.index}/_mget", query, {"ids": identities})
        # A document that could not be looked for is an error, and no proof that it is missing.
        failed = next((doc["error"] for doc in answer["docs"] if "error" in doc), None)
        if failed is not None:
            raise NotAcknowledgedError(f"cannot look for a document: {failed}")
        return {doc["_id"] for doc in answer["docs"] if doc.get("found")}

    async def _ask(
        self, method: str, path: str, query: dict[str, str] | None = None, body: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        full = f"/api/v1/namespaces/{self.namespace}/services/{self.service}:http/proxy/{path}"
        try:
            return msgspec.json.decode(await self.api.request(RawRequest(full, method, query, body)))
        except ApiError as error:
            raise NotAcknowledgedError(error.message) from error
        except msgspec.DecodeError as error:
            raise NotAcknowledgedError(f"not JSON: {error}") from error
