"""Checks settings of the configuration file: none that Stateward owns, none twice, names that are read as they are."""

from collections import Counter
from collections.abc import Callable, Iterator

from stateward.api.kinds.search import SearchCluster
from stateward.api.values.base import Json
from stateward.api.values.problem import Problem
from stateward.api.values.settings import LONGEST_NAME, NOT_PLAIN, PLAIN_NAME, TOO_LONG, flatten, reason_owned


def check(cluster: SearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with `config`, of the cluster and of each pool."""
    yield from check_settings("spec.config", cluster.spec.config, reason_owned)
    for i, pool in enumerate(cluster.spec.pools):
        yield from check_settings(f"spec.pools[{i}].config", pool.config, reason_owned)


def check_settings(path: str, config: Json | None, owned: Callable[[str], str | None]) -> Iterator[Problem]:
    """Yield what is wrong with settings; `owned` returns why a dotted key is Stateward's, None for others."""
    settings = list(flatten(config or {}))
    counts = Counter(key for key, _ in settings)
    for key, value in settings:
        at = f"{path}[{key}]"
        if len(key) > LONGEST_NAME:
            yield Problem(f"{path}[{key[:LONGEST_NAME]}...]", None, TOO_LONG)
        elif PLAIN_NAME.fullmatch(key) is None:
            yield Problem(at, value, NOT_PLAIN)
        elif (reason := owned(key)) is not None:
            yield Problem(at, value, f"cannot be set: {reason}")
        elif counts[key] > 1:
            yield Problem(at, value, "is given more than once, nested and with dots: keep one")
