"""What autoscalers read: a PoolScale reports the size of its pool, and why the pool does not follow it."""

from typing import Any

import pytest

from stateward.operator.scaling.report import report
from tests.unit.engines.search_clusters import SPEC, cluster, with_pool
from tests.unit.operator.objects.test_pool_scales import scale

FOLLOWS = with_pool("hot", scaling={"min": 2, "max": 9})
RULES = {"min": 2, "max": 9, "rules": [{"measure": "CPU", "above": 70, "below": 40}]}


def status(replicas: int, desired: int, ready: int) -> Any:
    return {"pools": [{"name": "hot", "desired": desired, "ready": ready, "scaling": {"replicas": replicas}}]}


def told(asked: int, spec: Any = FOLLOWS, before: Any = None, chosen: Any = None) -> Any:
    mine = scale("web", asked)
    made = report(mine, cluster(spec, before) if spec else None, chosen or mine, "opensearch", 1e9)
    ready = next(c for c in made.conditions if c.type == "Ready")
    return made, (ready.status, ready.reason), ready.message


def test_a_pool_that_has_become_what_is_asked_is_ready() -> None:
    made, ready, text = told(4, before=status(4, 4, 4))
    assert ready == ("True", "Applied")
    assert text == "pool hot has 4 members"
    assert (made.replicas, made.ready_replicas) == (4, 4)
    labels = "stateward.dev/cluster=logs,stateward.dev/engine=opensearch,stateward.dev/pool=hot"
    assert made.selector == labels


def test_a_number_outside_of_the_limits_says_so() -> None:
    _, ready, text = told(50, before=status(9, 9, 9))
    assert ready == ("True", "Limited")
    assert text == "pool hot has 9 members, the nearest number within its limits to 50"


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (None, "pool hot is to have 4 members"),
        (status(3, 3, 3), "pool hot is to have 4 members"),
        (status(4, 4, 3), "3 of 4 members of pool hot serve"),
    ],
)
def test_a_pool_on_its_way_waits(before: Any, text: str) -> None:
    _, ready, said = told(4, before=before)
    assert (ready, said) == (("False", "Resizing"), text)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (None, "ClusterMissing"),
        ({**SPEC, "pools": SPEC["pools"][:1]}, "PoolMissing"),
        (SPEC, "NotScalable"),
        (with_pool("hot", scaling=RULES), "RulesInCharge"),
    ],
)
def test_a_pool_that_does_not_follow_says_why(spec: Any, reason: str) -> None:
    made, ready, _ = told(4, spec, status(3, 3, 3) if spec else None)
    assert ready == ("False", reason)
    assert [c.status for c in made.conditions if c.type == "Stalled"] == ["True"]


def test_the_younger_one_of_two_names_the_other() -> None:
    _, ready, text = told(4, chosen=scale("older", 5))
    assert ready == ("False", "Conflict")
    assert "follows PoolScale older" in text


def test_a_number_that_is_not_known_stays() -> None:
    """An autoscaler would take 0 for a pool that was switched off, and end its work."""
    known, _, _ = told(4, before=status(5, 5, 5))
    assert known.replicas == 5
    mine = scale("web", 4)
    mine = type(mine)(metadata=mine.metadata, spec=mine.spec, status=known)
    assert report(mine, None, mine, "opensearch", 1e9).replicas == 5
