"""The throw-away cluster in which a snapshot is verified, its repository, and its restore, as manifests. Pure.

All that decides what runs comes from the cluster whose snapshots they are: image, settings, plug-ins, pod template. The
writer of a schedule chooses sizes only. The repository is read-only there, so that cluster cannot change a snapshot.
"""

import hashlib
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from stateward.api.kinds.cluster import Storage
from stateward.api.kinds.search import Pool, SearchCluster
from stateward.api.kinds.search_object import Claim, SearchObject
from stateward.api.kinds.snapshots.schedule import SearchSnapshotSchedule
from stateward.api.kinds.snapshots.verification import SnapshotVerification
from stateward.api.values import names
from stateward.api.values.base import API_VERSION, Json
from stateward.api.values.quantity import format_quantity, parse_bytes
from stateward.engines.pods.objects import owned_by

POOL = "all"
LONGEST = 40
"""Characters of the name: with that of the pool it fits into the limit of 46 for both."""
COPIED = ("version", "image", "podTemplate", "config", "secureSettings", "plugins", "pluginSource", "networkPolicy")
"""Fields of the source's spec that the throw-away cluster has too."""
COPIED_OF_POOL = ("config", "podTemplate", "resources")
IGNORED = ("index.routing.allocation.*", "index.lifecycle.*", "index.plugins.index_state_management.*")
"""Settings of restored indices that are for other nodes, or by which a policy may delete them."""
ROOM = 1.5
"""Size of the volume in sizes of the snapshot: the database places nothing on a disk that is 85 % full."""
GIBI = 1 << 30
REPOSITORY = "snapshotRepository"


@dataclass(frozen=True)
class Source:
    """The cluster whose snapshots are verified: as it is read, and its spec as it is stored."""

    cluster: SearchCluster
    spec: Json

    def pool(self) -> Pool | None:
        """Return the pool with data that has the largest volumes; None if no pool has data."""
        able = [pool for pool in self.cluster.spec.pools if pool.roles is None or any(map(_holds_data, pool.roles))]
        return max(able, key=lambda pool: parse_bytes(_storage(pool).size), default=None)


def hindrances(source: Source) -> Iterator[tuple[str, str]]:
    """Yield why no cluster can be made that is like a source: a reason, and a sentence."""
    meta, status, version = source.cluster.metadata, source.cluster.status, source.cluster.spec.version
    if meta.deletion_timestamp is not None:
        yield "ClusterDeleted", f"{meta.name} is being deleted"
    if status.version != version:
        yield "MixedVersions", f"{meta.name} does not run the version {version} yet"
    if source.pool() is None:
        yield "NoDataPool", f"{meta.name} has no pool with data that the throw-away cluster could be like"


def cluster_name(schedule: str) -> str:
    """Return the name of the throw-away cluster of a schedule; its repository and its restore have the same."""
    name = f"verify-{schedule}"
    if len(name) <= LONGEST and re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name):
        return name
    mark = hashlib.sha256(schedule.encode()).hexdigest()[:10]
    return f"{re.sub(r'[^-a-z0-9]', '-', name)[: LONGEST - len(mark) - 1]}-{mark}"


def cluster(schedule: SearchSnapshotSchedule, asked: SnapshotVerification, source: Source) -> Json:
    """Return the throw-away cluster, with one member like those of a pool of the source; it goes with its schedule.

    Raises ValueError for a source that `hindrances` has something against.
    """
    found, pool = source.cluster, source.pool()
    if pool is None:
        raise ValueError(f"{found.metadata.name} has no pool with data")
    specs = cast("list[Json]", source.spec.get("pools", []))
    own = next((each for each in specs if each.get("name") == pool.name), Json())
    success = schedule.status.last_success
    size = storage_size(asked, pool, None if success is None else success.size_bytes)
    return {
        "apiVersion": API_VERSION,
        "kind": found.kind,
        "metadata": _metadata(
            schedule, owned_by(schedule.kind, schedule.metadata.name, schedule.metadata.uid), _wave(found)
        ),
        "spec": {
            **_present(source.spec, COPIED),
            **_security(found),
            "volumes": {"whenDeleted": "Delete", "whenScaled": "Delete"},
            "pools": [
                {
                    "name": POOL,
                    "replicas": 1,
                    **_present(own, COPIED_OF_POOL),
                    **({} if asked.resources is None else {"resources": asked.resources}),
                    "storage": {**_present(cast("Json", own.get("storage") or {}), ("storageClass",)), **size},
                }
            ],
        },
    }


def storage_size(asked: SnapshotVerification, pool: Pool, snapshot: int | None) -> Json:
    """Return the size of the volume; `snapshot` in bytes, None if it is not known."""
    if asked.storage_size is not None:
        return {"size": asked.storage_size}
    usual = _storage(pool).size
    if snapshot is None or snapshot * ROOM <= parse_bytes(usual):
        return {"size": usual}
    return {"size": format_quantity(math.ceil(snapshot * ROOM / GIBI) * GIBI)}


def repository(schedule: SearchSnapshotSchedule, declared: SearchObject, uid: str) -> Json:
    """Return the read-only repository of the throw-away cluster with this UID, as `declared` for the source."""
    spec = declared.spec
    settings = {**cast("Json", spec.body.get("settings") or {}), "readonly": True}
    values = [
        {"secretName": each.secret_name, "key": each.key, "path": each.path}
        for each in spec.values or ()
        if each.path != "/settings/readonly"
    ]
    return {
        "apiVersion": API_VERSION,
        "kind": "SearchObject",
        "metadata": _metadata(schedule, _in_cluster(schedule, uid)),
        "spec": {
            "cluster": _reference(schedule),
            "object": f"{REPOSITORY}/{schedule.spec.repository}",
            "deletionPolicy": "Retain",
            "body": {**spec.body, "settings": settings},
            **({"values": values} if values else {}),
        },
    }


def restore(schedule: SearchSnapshotSchedule, snapshot: str, uid: str) -> Json:
    """Return the restore of all indices of a snapshot into that cluster, without replicas: it has one member."""
    return {
        "apiVersion": API_VERSION,
        "kind": "SearchRestore",
        "metadata": _metadata(schedule, _in_cluster(schedule, uid)),
        "spec": {
            "cluster": _reference(schedule),
            "repository": schedule.spec.repository,
            "snapshot": snapshot,
            "includeAliases": False,
            "indexSettings": {"index.number_of_replicas": 0, "index.auto_expand_replicas": False},
            "ignoreIndexSettings": list(IGNORED),
        },
    }


def declared_repository(schedule: SearchSnapshotSchedule, objects: Iterable[SearchObject]) -> SearchObject | None:
    """Return the object that has written a schedule's repository into the source's database; None if none has.

    The disaster this prevents: of two declarations, the one is taken that the database does not have, and snapshots of
    another place are called verified.
    """
    wanted = f"{REPOSITORY}/{schedule.spec.repository}"
    mine = (each for each in objects if each.spec.object == wanted and each.spec.cluster == schedule.spec.cluster)
    return next((each for each in mine if each.status.claim in (Claim.OWNED, Claim.MERGED)), None)


def _in_cluster(schedule: SearchSnapshotSchedule, uid: str) -> Json:
    return owned_by(str(schedule.spec.cluster.kind), cluster_name(schedule.metadata.name), uid)


def _reference(schedule: SearchSnapshotSchedule) -> Json:
    return {"kind": str(schedule.spec.cluster.kind), "name": cluster_name(schedule.metadata.name)}


def _security(found: SearchCluster) -> Json:
    """Return whether the throw-away cluster is secured: wherever the source is, or is to be, for it gets its data.

    Its certificates and its administrator are its own: given ones are for the names of the source.
    """
    known, asked = found.status.security, found.spec.security
    said = [*([known.enabled] if known is not None else []), *([asked.enabled] if asked is not None else [])]
    decided = [each for each in said if each is not None]
    return {"security": {"enabled": any(decided)}} if decided else {}


def _wave(found: SearchCluster) -> Json:
    """Return the label by which an operator of a wave manages the source."""
    wave = found.metadata.labels.get(names.LABEL_WAVE)
    return {} if wave is None else {names.LABEL_WAVE: wave}


def _metadata(schedule: SearchSnapshotSchedule, owner: Json, labels: Json | None = None) -> Json:
    return {
        "name": cluster_name(schedule.metadata.name),
        "labels": {"app.kubernetes.io/managed-by": names.FIELD_MANAGER, **(labels or {})},
        "ownerReferences": [owner],
    }


def _holds_data(role: str) -> bool:
    return role == "data" or role.startswith("data_")


def _storage(pool: Pool) -> Storage:
    return pool.storage or Storage()


def _present(spec: Json, fields: Iterable[str]) -> Json:
    return {field: spec[field] for field in fields if spec.get(field) is not None}
