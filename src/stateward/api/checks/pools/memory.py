"""Memory: limits that mean something, and a heap that fits."""

import re
from collections.abc import Iterator

from stateward.api.checks.pools.resources import amount, amounts
from stateward.api.checks.template import environment
from stateward.api.kinds.products import Product, product_of
from stateward.api.kinds.search import Pool, SearchCluster
from stateward.api.values.problem import Problem, Severity
from stateward.api.values.quantity import format_quantity

SMALLEST = 512 * 1024**2
"""Bytes of memory below which the database spends its time collecting garbage."""

_HEAP = re.compile(r"-Xm([sx])([0-9]+)([kKmMgGtT]?)(?=\s|$)")
_DIGITS = 30
"""The first digits of a number that count; with so many, it is larger than any memory."""
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def check(cluster: SearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with the memory limit and the heap of each pool."""
    for i, pool in enumerate(cluster.spec.pools):
        path = f"spec.pools[{i}]"
        yield from _limit(f"{path}.resources.limits.memory", _memory(pool))
        product = product_of(cluster)
        yield from _heap(_where(path, pool, product), _options(cluster, pool, product), _memory(pool))


def _memory(pool: Pool) -> int | None:
    """Return the memory limit of the database's container in bytes; None without a limit."""
    value = amount(amounts(pool.resources or {}, "limits").get("memory"))
    return None if value is None else int(value)


def _limit(path: str, memory: int | None) -> Iterator[Problem]:
    if memory is not None and memory < SMALLEST:
        text = (
            "is little memory for a database, and half of it is the heap;"
            f" {format_quantity(SMALLEST)} or more is better"
        )
        yield Problem(path, format_quantity(memory), text, Severity.WARNING)


def _where(path: str, pool: Pool, product: Product) -> str:
    own = product.java_options in environment(pool.pod_template, product)
    return f"{path if own else 'spec'}.podTemplate.spec.containers[{product.engine}].env[{product.java_options}]"


def _options(cluster: SearchCluster, pool: Pool, product: Product) -> str:
    merged = environment(cluster.spec.pod_template, product) | environment(pool.pod_template, product)
    return merged.get(product.java_options, "")


def _heap(path: str, options: str, memory: int | None) -> Iterator[Problem]:
    sizes = {which: int(number[:_DIGITS]) * _UNITS[unit.lower()] for which, number, unit in _HEAP.findall(options)}
    least, most = sizes.get("s"), sizes.get("x")
    if least != most:
        text = "-Xms and -Xmx must be given together and be the same, or the database refuses to start"
        yield Problem(path, options, text)
    if most is not None and memory is not None and most >= memory:
        text = f"the heap must be smaller than the memory limit, {format_quantity(memory)}: about half of it"
        yield Problem(path, options, text)
