"""Attacks that are drawn: a fixed number of examples in `make test`, many times as many in `make e2e`."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

TIMES = "STATEWARD_FUZZ_TIMES"
"""The environment variable that says how many times as many examples are drawn as usual."""

SEED = "STATEWARD_FUZZ_SEED"
"""The environment variable with the seed of a long run, to have the same one again."""


T = TypeVar("T", bound=Callable[..., Any])


def fuzzed(examples: int, *health: HealthCheck) -> Callable[[T], T]:
    """Mark a test as an attack that draws so many examples, or a multiple of them in a long run."""
    times = int(os.environ.get(TIMES, "1"))
    kept: dict[str, Any] = {} if times == 1 else {"database": None}  # examples of another run would move this one's
    budget = settings(
        max_examples=examples * times,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, *health],
        **kept,
    )

    def marked(test: T) -> T:
        return pytest.mark.fuzz(budget(test))

    return marked
