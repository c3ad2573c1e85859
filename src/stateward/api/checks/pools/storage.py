"""Checks volumes: valid sizes, and no class without a volume."""

from collections.abc import Iterator
from contextlib import suppress

from stateward.api.kinds.cluster import Storage
from stateward.api.kinds.search import Pool, SearchCluster
from stateward.api.values.problem import Problem, Severity
from stateward.api.values.quantity import QuantityError, parse_bytes
from stateward.api.values.roles import manages


def check(cluster: SearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with storage."""
    for i, pool in enumerate(cluster.spec.pools):
        if pool.storage is not None:
            yield from _storage(f"spec.pools[{i}].storage", pool, pool.storage)


def _storage(path: str, pool: Pool, storage: Storage) -> Iterator[Problem]:
    yield from check_size(f"{path}.size", storage.size)
    yield from check_growth(f"{path}.grow", storage)
    if storage.ephemeral and storage.storage_class is not None:
        text = "ephemeral storage has no storage class: leave storageClass out, or ephemeral"
        yield Problem(f"{path}.storageClass", storage.storage_class, text)
    if storage.ephemeral and manages(pool.roles):
        text = "cluster managers keep the cluster state: it is lost when most of their pods are deleted at once"
        yield Problem(f"{path}.ephemeral", storage.ephemeral, text, Severity.WARNING)


def check_growth(path: str, storage: Storage) -> Iterator[Problem]:
    """Yield what is wrong with the growth of volumes."""
    if storage.grow is None:
        return
    if storage.ephemeral:
        yield Problem(path, storage.grow.max, "ephemeral storage cannot grow: leave grow out, or ephemeral")
    yield from check_size(f"{path}.max", storage.grow.max)
    with suppress(QuantityError):
        if 0 < parse_bytes(storage.grow.max) < parse_bytes(storage.size):
            text = f"must be at least storage.size ({storage.size})"
            yield Problem(f"{path}.max", storage.grow.max, text)


def check_size(path: str, size: str) -> Iterator[Problem]:
    """Yield what is wrong with the size of a volume."""
    try:
        wanted = parse_bytes(size)
    except QuantityError as error:
        yield Problem(path, size, f"must be a quantity of bytes, for example 20Gi: {error}")
    else:
        if wanted <= 0:
            yield Problem(path, size, "must be more than 0, for example 20Gi")
