"""The sandbox's own figures, as rows of the table."""

from bench.table import Row
from sandbox.bench import Figures, measure


def rows(*, cold: bool) -> list[Row]:
    """Bring a sandbox of its own up and down, and return the figures."""
    return table(measure(cold=cold))


def table(figures: Figures) -> list[Row]:
    """Return the figures of a sandbox as rows."""
    first: list[Row] = []
    if figures.cold is not None and figures.build is not None:
        first = [
            Row("sandbox: cold up, with all downloads and the Go build", f"{figures.cold:.0f} s", "720 s"),
            Row("sandbox: the Go build of it", f"{figures.build:.0f} s", "480 s"),
        ]
    return [
        *first,
        Row("sandbox: warm up to three Ready nodes", f"{figures.warm:.1f} s", "45 s"),
        Row("sandbox: up again, nothing to do", f"{figures.again:.1f} s"),
        Row("sandbox: down", f"{figures.down:.1f} s"),
        Row("sandbox: idle memory of all of Kubernetes", f"{figures.memory / 1e6:.0f} MB", "1600 MB"),
    ]
