"""The report of a run, for a person: the figures, what was broken, and the story of each episode."""

from collections.abc import Iterator

from tests.chaos.run import Outcome


def page(outcome: Outcome) -> str:
    """Return the report, in Markdown."""
    return "\n".join(_lines(outcome)) + "\n"


def _lines(outcome: Outcome) -> Iterator[str]:
    verdict = outcome.verdict
    yield f"# Chaos: seed {outcome.seed}, {'secured' if outcome.secured else 'with upgrades'}"
    yield ""
    yield "| figure | value |"
    yield "| --- | --- |"
    yield f"| episodes | {len(outcome.episodes)} |"
    yield f"| acknowledged writes | {verdict.acknowledged:,} |"
    yield f"| writes without an answer | {verdict.unanswered:,} |"
    yield f"| longest without an acknowledged write | {verdict.longest:.1f} s |"
    yield f"| answered reads | {verdict.reads:,} |"
    yield f"| stale reads | {verdict.stale:,}, the most stale by {verdict.stalest:.1f} s |"
    yield f"| health, once a second | {', '.join(f'{name} {n:,}' for name, n in sorted(outcome.health.items()))} |"
    yield f"| violations | {len(outcome.violations)} |"
    yield ""
    for violation in outcome.violations:
        yield f"* **{violation}**"
    for story in outcome.episodes:
        yield ""
        yield f"## Episode {story.number}"
        yield ""
        for line in story.lines:
            yield f"* {line.strip()}"
