"""Checks the scaling of pools: limits in their order, and rules that the pool can be measured by."""

from collections.abc import Iterator

from stateward.api.kinds.products import Product, product_of
from stateward.api.kinds.scaling.limits import Measure, Scaling, ScalingRule
from stateward.api.kinds.search import Pool, SearchCluster
from stateward.api.values.problem import Problem, Severity
from stateward.api.values.roles import manages

LARGEST = {Measure.DISK: 84, Measure.CPU: 100}
"""The largest number of a rule in percent. From 85 % of a disk on, the database places no more shards on a node."""
SAFE_MANAGERS = 3


def check(cluster: SearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with the scaling of each pool."""
    for i, pool in enumerate(cluster.spec.pools):
        if pool.scaling is not None:
            yield from _scaling(f"spec.pools[{i}]", pool, pool.scaling, product_of(cluster))


def _scaling(path: str, pool: Pool, scaling: Scaling, product: Product) -> Iterator[Problem]:
    if scaling.min > scaling.max:
        yield Problem(f"{path}.scaling.min", scaling.min, f"must not be more than max ({scaling.max})")
    if manages(pool.roles) and scaling.min < SAFE_MANAGERS <= scaling.max:
        text = f"with fewer than {SAFE_MANAGERS} cluster managers, the cluster is unavailable whenever one is down"
        yield Problem(f"{path}.scaling.min", scaling.min, text, Severity.WARNING)
    for j, rule in enumerate(scaling.rules or ()):
        at = f"{path}.scaling.rules[{j}]"
        yield from _rule(at, pool, rule, product)


def _rule(path: str, pool: Pool, rule: ScalingRule, product: Product) -> Iterator[Problem]:
    most = LARGEST.get(rule.measure)
    if most is not None and rule.above > most:
        yield Problem(f"{path}.above", rule.above, f"must be at most {most} for {rule.measure.value}, in percent")
    if rule.below >= rule.above:
        yield Problem(f"{path}.below", rule.below, f"must be less than above ({rule.above})")
    if rule.measure is Measure.CPU:
        return
    if not product.roles.holds_data(pool.roles):
        yield Problem(
            f"{path}.measure", rule.measure.value, "the pool holds no data: use CPU, or give it the role data"
        )
    elif rule.measure is Measure.DISK and pool.storage is not None and pool.storage.ephemeral:
        text = "ephemeral storage shares its disk with others: use another measure, or volumes"
        yield Problem(f"{path}.measure", rule.measure.value, text)
