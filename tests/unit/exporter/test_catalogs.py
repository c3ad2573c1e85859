"""Names and meanings of metrics follow the conventions of Prometheus, and say the same for all databases."""

import pytest

from stateward.exporter.catalogs import FOUNDATIONDB, SEARCH
from stateward.exporter.metric import Metric


@pytest.mark.parametrize("metrics", [SEARCH, FOUNDATIONDB])
def test_names_follow_the_conventions_of_prometheus(metrics: tuple[Metric, ...]) -> None:
    names = [metric.name for metric in metrics]
    assert len(set(names)) == len(names)
    for metric in metrics:
        assert metric.name.startswith("stateward_")
        assert (metric.type == "counter") is metric.name.endswith("_total")
        assert not any(word in metric.name for word in ("millis", "percent", "kilo", "megabit"))
        assert metric.meaning.endswith(".")


def test_a_name_of_two_databases_has_one_meaning_and_one_type() -> None:
    search = {metric.name: metric for metric in SEARCH}
    both = [(search[metric.name], metric) for metric in FOUNDATIONDB if metric.name in search]
    assert {metric.name for _, metric in both} >= {"stateward_database_up", "stateward_database_disk_total_bytes"}
    for one, other in both:
        assert (one.type, one.meaning) == (other.type, other.meaning)
