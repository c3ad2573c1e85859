"""Samples in the text format of Prometheus."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from stateward import __version__
from stateward.exporter.metric import BUILD, COUNTER
from stateward.exporter.samples import Sample

TEXT = "text/plain; version=0.0.4"


class Fixed(Collector):
    """Families that were made before."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = tuple(families)

    def collect(self) -> Iterator[Family]:
        """Return the families."""
        return iter(self._families)


def text_of(samples: Iterable[Sample]) -> bytes:
    """Return samples in the text format of Prometheus; a metric without samples is not in it."""
    by_metric: dict[str, list[Sample]] = {}
    for sample in (*samples, Sample(BUILD, (__version__,), 1.0)):
        by_metric.setdefault(sample.metric.name, []).append(sample)
    registry = CollectorRegistry()
    registry.register(Fixed(map(_family, by_metric.values())))
    return generate_latest(registry)


def _family(samples: list[Sample]) -> Family:
    metric = samples[0].metric
    kind = CounterMetricFamily if metric.type == COUNTER else GaugeMetricFamily
    family = kind(metric.name, metric.meaning, labels=metric.labels)
    for sample in samples:
        family.add_metric(sample.labels, sample.value)
    return family
