"""Resources of containers: names, quantities, and requests within limits, as an API server accepts them.

The schema of the CRD accepts any name. A name that the server refuses would be found with the first StatefulSet: the
cluster would be created, and no member.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, cast

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.base import Json
from stateward.api.values.problem import Problem
from stateward.api.values.quantity import QuantityError, parse_quantity

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_HUGE = "hugepages-"


def check(cluster: Cluster) -> Iterator[Problem]:
    """Yield what is wrong with the resources of each pool."""
    for i, pool in enumerate(cluster.spec.pools):
        yield from check_resources(f"spec.pools[{i}].resources", pool.resources)


def check_resources(path: str, resources: Json | None) -> Iterator[Problem]:
    """Yield what is wrong with the resources of a container."""
    given = resources or {}
    for kind in ("requests", "limits"):
        if not isinstance(given.get(kind, {}), Mapping):
            yield Problem(f"{path}.{kind}", given[kind], "must be a map of quantities, for example memory: 2Gi")
    requests, limits = amounts(given, "requests"), amounts(given, "limits")
    for kind, listed in (("requests", requests), ("limits", limits)):
        yield from _named(f"{path}.{kind}", listed)
    for name, requested in requests.items():
        yield from _within(f"{path}.requests.{name}", name, requested, limits.get(name))


def _named(path: str, listed: Mapping[str, Any]) -> Iterator[Problem]:
    for name, given in listed.items():
        if name not in _STANDARD and not name.startswith(_HUGE) and "/" not in name:
            text = "is no resource of containers: use cpu, memory, ephemeral-storage, hugepages-SIZE or DOMAIN/NAME"
            yield Problem(f"{path}.{name}", given, text)
        elif amount(given) is None:
            yield Problem(f"{path}.{name}", given, "must be a quantity, 0 or more, for example 2Gi or 500m")


def _within(path: str, name: str, requested: Any, limit: Any) -> Iterator[Problem]:
    least, most = amount(requested), amount(limit)
    if least is None:
        return
    if most is not None and least > most:
        yield Problem(path, requested, f"must not be more than the limit, {limit}")
    elif _is_whole(name) and least != most:
        yield Problem(path, requested, "must be the same as the limit: this resource is never shared")


def _is_whole(name: str) -> bool:
    """Return whether the server refuses to promise more of a resource than there is."""
    return name.startswith(_HUGE) or ("/" in name and "kubernetes.io/" not in name)


def amounts(resources: Json, kind: str) -> Mapping[str, Any]:
    """Return the requests or limits by name; nothing for another value."""
    found = resources.get(kind)
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def amount(given: Any) -> Fraction | None:
    """Return an amount of 0 or more; None for an invalid one."""
    try:
        value = parse_quantity(str(given)) if isinstance(given, str | int | float) else None
    except QuantityError:
        return None
    return value if value is not None and value >= 0 else None
