"""The credentials between operator and agents: a CA for each cluster, a certificate and token for each agent.

The CA's key and the root of the tokens are in a Secret of the cluster that no pod mounts; each member's Secret has its
own certificate, key and token. A token is derived from the end of its certificate, so it changes with each renewal, and
the operator knows it without reading a member's Secret. An attacker that takes over a process gains access to its own
agent, and to no other. The Secret's annotations hold the expiry of the certificate, so the caches show it without the
content. The agents reload their files when these change: a renewal restarts no process.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from stateward import pki
from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.api.values.base import GROUP
from stateward.api.values.duration import stored_time
from stateward.engines.pods.objects import owner
from stateward.kube.client.client import Api, ApplyOptions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key, ObjectMeta, PartialObject, key_of
from stateward.kube.timing.clock import Clock
from stateward.operator.databases.agents import Access, AgentError
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import kind_of
from stateward.operator.objects.ownership import TakenNames, key_in, own_secret

ANNOTATION_ISSUER = f"{GROUP}/issuer"
"""On a member's Secret: which authority has signed."""
ANNOTATION_ENDS = f"{GROUP}/certificate-not-after"
"""On a member's Secret: when its certificate ends, in seconds since the epoch."""
ANNOTATION_EARLIER = f"{GROUP}/previous-certificate-not-after"
"""On a member's Secret: the end of the previous certificate, whose token its agent may still have."""
SHARED = "shared"
"""In place of that time: the agent may still have the token that all members once had."""
LABEL_PURPOSE = f"{GROUP}/purpose"
"""On a member's Secret: `agent`, for the one by which its agent proves itself."""
PURPOSE = "agent"
TEXTS = ("root", "token")
RAW_SECRETS = kinds.SECRETS.raw()


class Keys(Struct, frozen=True):
    """The secrets of one cluster."""

    authority: pki.Authority
    root: str
    """The root from which the tokens of members are derived."""
    shared: str = ""
    """The earlier token of all members, if the cluster is old enough to have one."""

    def token(self, name: str, ends: str) -> str:
        """Return the token of the agent with a name, beside a certificate that ends so."""
        if ends == SHARED:
            return self.shared
        made = hmac.digest(self.root.encode(), f"{name} {ends}".encode(), "sha256")
        return base64.urlsafe_b64encode(made).decode().rstrip("=")


class Credentials:
    """Creates, keeps and renews the secrets between operator and agents."""

    def __init__(self, api: Api, caches: Caches, clock: Clock, taken: TakenNames) -> None:
        self._api = api
        self._taken = taken
        self._caches = caches
        self._clock = clock
        self._known: dict[Key, tuple[str, str, Keys]] = {}
        """By cluster: its UID, the version of its Secret, and what that holds."""
        self._doubted: dict[Key, Key] = {}
        """Secrets of members to check, each with its cluster."""

    def forget(self, key: Key) -> None:
        """Drop what is remembered of a cluster: it is gone, or another one has its name."""
        self._known.pop(key, None)
        self._doubted = {secret: cluster for secret, cluster in self._doubted.items() if cluster != key}

    def request_check(self, cluster: Cluster, member: str) -> None:
        """Request a check of a member's Secret, because its agent and the operator reject each other.

        Caches show no content, and a user may have changed it: without this check the member could not restart until
        its renewal.
        """
        self._doubted[Key(cluster.metadata.namespace, names.agent(member))] = key_of(cluster)

    async def prepare(self, cluster: Cluster) -> None:
        """Create or renew the cluster's Secret if it is missing or due; raises ApiError, NotOwnedError."""
        await self._keys(cluster)

    async def access(self, cluster: Cluster, member: str) -> Access:
        """Return how the agent of a member is talked to; raises AgentError without a Secret, ApiError, NotOwnedError.

        Nothing is written. The disaster this prevents: what asks agents beside the reconciliations knows a cluster as
        it was some seconds ago, and creates the Secret for one that was deleted and created again meanwhile.
        """
        keys, namespace = await self._present(cluster), cluster.metadata.namespace
        if keys is None:
            raise AgentError(f"Secret {secret_key(cluster).name} does not exist yet")
        told = self._told(Key(namespace, names.agent(member)))
        name = agent_name(namespace, member)
        earlier = told.get(ANNOTATION_EARLIER, SHARED)
        return Access(
            keys.authority.bundle,
            keys.token(name, told.get(ANNOTATION_ENDS, "")),
            keys.token(name, earlier) if earlier else "",
        )

    async def keep(self, existing: ClusterObjects) -> None:
        """Renew what is due for members whose pods have agents; raises ApiError, NotOwnedError.

        A released member gets nothing new: its Secret would be left behind when its objects are removed.
        """
        running = (s for s in existing.sets if s.spec.replicas and not s.metadata.terminating)
        managed = [s for s in running if names.ANNOTATION_AGENT in s.spec.template.metadata.annotations]
        keys = await self._keys(existing.cluster) if managed else None
        for workload in managed:
            if keys is not None:
                await self._ensure(existing.cluster, workload.metadata.name, keys)

    async def ensure(self, cluster: Cluster, member: str) -> None:
        """Create or renew a member's Secret if it is missing or due; raises ApiError, NotOwnedError."""
        await self._ensure(cluster, member, await self._keys(cluster))

    async def _ensure(self, cluster: Cluster, member: str, keys: Keys) -> None:
        key = Key(cluster.metadata.namespace, names.agent(member))
        cached = self._caches.of(kinds.SECRETS).get(key)
        good = cached is not None and self._good(cached.metadata, keys, cluster)
        told = self._told(key)
        if key in self._doubted:
            good = good and await self._holds(key, keys, agent_name(key.namespace, member), told[ANNOTATION_ENDS])
            self._doubted.pop(key, None)
        if good:
            return
        await self._taken.exists(kinds.SECRETS, key, cluster)
        signs = keys.authority.signs
        pair = pki.issue(signs, member, [agent_name(key.namespace, member)], self._now())
        ends = str(int(pki.ends(pair.certificate)))
        before = (told.get(ANNOTATION_ENDS, "") if ANNOTATION_EARLIER in told else SHARED) if told else ""
        annotations = {ANNOTATION_ISSUER: mark(signs), ANNOTATION_ENDS: ends, ANNOTATION_EARLIER: before}
        token = keys.token(agent_name(key.namespace, member), ends)
        data = {"tls.crt": pair.certificate, "tls.key": pair.key, "token": token}
        await self._apply(secret(cluster, key.name, data, annotations, member))

    def _told(self, key: Key) -> Mapping[str, str]:
        """Return the annotations of a member's Secret from the caches; empty without a Secret."""
        cached: PartialObject | None = self._caches.of(kinds.SECRETS).get(key)
        return cached.metadata.annotations if cached is not None else {}

    async def _holds(self, key: Key, keys: Keys, name: str, ends: str) -> bool:
        """Return whether a Secret holds what its annotations say, so that agent and operator accept each other."""
        try:
            files = contents(await self._api.get(RAW_SECRETS, key))
        except NotFound:
            return False
        pair = pki.Pair(files.get("tls.crt", ""), files.get("tls.key", ""))
        return files.get("token") == keys.token(name, ends) and pki.fits(pair, keys.authority.signs, (name,))

    def _good(self, meta: ObjectMeta, keys: Keys, cluster: Cluster) -> bool:
        labelled = meta.labels.get(names.LABEL_ENGINE) == kind_of(cluster).engine
        ours = meta.controller_uid == cluster.metadata.uid and labelled and not meta.terminating
        signed = meta.annotations.get(ANNOTATION_ISSUER) == mark(keys.authority.signs)
        end, own = stored_time(meta.annotations.get(ANNOTATION_ENDS, "")), ANNOTATION_EARLIER in meta.annotations
        if not (ours and signed and own) or end is None:
            return False
        left, life = end - self._now(), pki.DAYS * 86400
        if left > life + pki.SLACK:  # A clock that was ahead has dated it: it is not valid yet.
            return False
        # A certificate that ends with its CA cannot be extended.
        return left > life * pki.LEFT or (left > 0 and end >= int(pki.ends(keys.authority.signs.certificate)))

    async def _keys(self, cluster: Cluster) -> Keys:
        """Return the cluster's secrets as they should be now, and write what is missing or due."""
        key, keys, now = secret_key(cluster), await self._present(cluster), self._now()
        if keys is None:
            keys = Keys(pki.new_authority(f"{key} agents", now), secrets.token_urlsafe(32))
        elif keys.root and pki.changed(keys.authority, now) is keys.authority:
            return keys
        keys = Keys(pki.changed(keys.authority, now), keys.root or secrets.token_urlsafe(32), keys.shared)
        written = await self._apply(secret(cluster, key.name, secret_files(keys), {}))
        self._known[key_of(cluster)] = (cluster.metadata.uid, written.metadata.resource_version, keys)
        return keys

    async def _present(self, cluster: Cluster) -> Keys | None:
        """Return the content of the cluster's Secret, read again only when it has changed.

        None if it does not exist or is invalid.
        """
        key = secret_key(cluster)
        cached = self._caches.of(kinds.SECRETS).get(key)
        version = cached.metadata.resource_version if cached is not None else ""
        uid = cluster.metadata.uid
        known = self._known.get(key_of(cluster))
        if known is not None and version and known[:2] == (uid, version):
            return known[2]
        found = await own_secret(self._api, key, cluster)
        keys = parse_files(contents(found)) if found is not None else None
        if keys is not None:
            self._known[key_of(cluster)] = (uid, version, keys)
        return keys

    async def _apply(self, body: dict[str, Any]) -> Any:
        options = ApplyOptions(manager=names.FIELD_MANAGER, force=True)
        written = await self._api.apply(kinds.SECRETS, key_in(body), body, options)
        owner_key = Key(written.metadata.namespace, written.metadata.labels[names.LABEL_CLUSTER])
        self._caches.expectations(owner_key).wrote(self._caches.of(kinds.SECRETS), written)
        return written

    def _now(self) -> float:
        return self._clock.now().timestamp()


def secret_key(cluster: Cluster) -> Key:
    """Return the name of the cluster's Secret."""
    return Key(cluster.metadata.namespace, f"{cluster.metadata.name}-agents")


def contents(found: dict[str, Any]) -> dict[str, str]:
    """Return the content of a Secret as text."""
    encoded: dict[str, str] = found.get("data") or {}
    return {name: base64.b64decode(value).decode(errors="replace") for name, value in encoded.items()}


def agent_name(namespace: str, member: str) -> str:
    """Return the name that a member's agent proves."""
    return f"{member}.{namespace}.agent"


def mark(pair: pki.Pair) -> str:
    """Return what tells one authority from another."""
    return hashlib.sha256(pair.certificate.encode()).hexdigest()[:16]


def secret(
    cluster: Cluster, name: str, data: dict[str, str], annotations: dict[str, str], member: str = ""
) -> dict[str, Any]:
    """Return a Secret of the cluster."""
    engine = kind_of(cluster).engine
    labels = {names.LABEL_CLUSTER: cluster.metadata.name, names.LABEL_ENGINE: engine, LABEL_PURPOSE: PURPOSE}
    metadata = {
        "name": name,
        "namespace": cluster.metadata.namespace,
        "labels": {**labels, **({names.LABEL_MEMBER: member} if member else {})},
        "annotations": annotations,
        "ownerReferences": [owner(cluster)],
    }
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": encoded}


def secret_files(keys: Keys) -> dict[str, str]:
    """Return the files of the cluster's Secret."""
    authority = keys.authority
    coming = authority.coming
    return {
        "root": keys.root,
        **({"token": keys.shared} if keys.shared else {}),
        "tls.crt": authority.signs.certificate,
        "tls.key": authority.signs.key,
        **({} if coming is None else {"next.crt": coming.certificate, "next.key": coming.key}),
        **({"retired.crt": "".join(authority.retired)} if authority.retired else {}),
        "ca.crt": authority.bundle,
    }


def parse_files(data: dict[str, str]) -> Keys | None:
    """Return the secrets in the files, without invalid ones; `root` is empty in old files.

    None if they are unusable without an invalid one: then they are created again.
    """
    coming = pki.Pair(data.get("next.crt", ""), data.get("next.key", ""))
    signs = pki.Pair(data.get("tls.crt", ""), data.get("tls.key", ""))
    given = (data.get(name, "") for name in TEXTS)
    root, shared = (text if text.isascii() and text.isprintable() else "" for text in given)
    if not (root or shared) or not pki.signs(signs):
        return None
    authority = pki.Authority(signs, coming if pki.signs(coming) else None, pki.sound(data.get("retired.crt", "")))
    return Keys(authority, root, shared)
