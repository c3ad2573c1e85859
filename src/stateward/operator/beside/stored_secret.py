"""A Secret with credentials that no pod mounts: read live, and written only as it was read.

Contents are in no log, event or status.
"""

from collections.abc import Mapping

from stateward.api.values.base import Json, Metadata
from stateward.api.values.duration import stored_time
from stateward.engines.pods.objects import secret
from stateward.kube.client.client import Api, PatchKind
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.secret_content import encoded, text_content
from stateward.operator.beside.owned import TakenError
from stateward.planning.model.past_times import AHEAD

RAW = kinds.SECRETS.raw()


class StoredSecret:
    """One Secret that the cluster with `owner` as its metadata controls; `metadata` is that of a new one."""

    def __init__(self, api: Api, owner: Metadata, metadata: Json) -> None:
        self._api = api
        self._owner = owner
        self._metadata = metadata
        self._version: str | None = None
        self.texts: Mapping[str, str] = {}
        self.unreadable: frozenset[str] = frozenset()
        """Names with a content that is no text."""

    @property
    def _key(self) -> Key:
        return Key(self._owner.namespace, self._metadata["name"])

    @property
    def exists(self) -> bool:
        """Whether there is such a Secret, as far as it was read or written."""
        return self._version is not None

    async def read(self) -> None:
        """Read the content, empty if there is no Secret; raises TakenError if it belongs to another, ApiError."""
        self._version, self.texts, self.unreadable = None, {}, frozenset()
        try:
            found = await self._api.get(RAW, self._key)
        except NotFound:
            return
        owners: list[Json] = found["metadata"].get("ownerReferences") or []
        if not any(each.get("controller") and each.get("uid") == self._owner.uid for each in owners):
            raise TakenError(f"Secret {self._key.name} exists and does not belong to this cluster")
        self.texts = text_content(found)
        self.unreadable = frozenset(found.get("data") or {}) - frozenset(self.texts)
        self._version = found["metadata"]["resourceVersion"]

    async def date_back(self, name: str, now: float) -> None:
        """Store a time of the past in seconds since the epoch as `now` if it is ahead; raises as `write` does."""
        known = stored_time(self.texts.get(name, ""))
        if known is not None and known > now + AHEAD:
            await self.write({**self.texts, name: str(int(now))})

    async def write(self, texts: Mapping[str, str]) -> None:
        """Write the content; raises AlreadyExists or Conflict if another process was faster, ApiError."""
        if self._version is not None and dict(self.texts) == dict(texts):
            return
        if self._version is None:
            made = await self._api.create(RAW, secret(self._metadata, texts), namespace=self._owner.namespace)
        else:
            patch = [
                {"op": "test", "path": "/metadata/resourceVersion", "value": self._version},
                {"op": "add", "path": "/data", "value": encoded(dict(texts))},
            ]
            made = await self._api.patch(RAW, self._key, patch, kind=PatchKind.JSON)
        self.texts, self.unreadable = dict(texts), frozenset()
        self._version = made["metadata"]["resourceVersion"]
