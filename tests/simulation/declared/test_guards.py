"""Each guard of declared resources that is removed is found by a storm: what no storm finds proves nothing."""

import pytest

from stateward.simulation.campaign.campaign import attempt
from stateward.simulation.campaign.run import Plan
from tests.simulation.declared import guards
from tests.simulation.declared.guards import Removal

pytestmark = pytest.mark.simulation

TRIES = 100
"""Seeds, one of which must find it. The first one does now; the course of a seed changes with the code, and the rarest
of these mistakes shows in about one seed of 25."""


@pytest.mark.parametrize(
    ("removal", "letter", "first"),
    [
        (guards.mixed_versions, "k", 13),
        (guards.unknown_versions, "k", 6),
        (guards.existing, "l", 2),
        (guards.reported, "l", 1),
        (guards.paused, "l", 2),
        (guards.one_resource, "l", 27),
        (guards.retained, "m", 3),
        (guards.removed, "m", 1),
        (guards.written_by_it, "m", 18),
        (guards.hidden, "n", 4),
        (guards.corrected, "g", 1),
        (guards.compared, "eg", 1),
        (guards.retained_snapshot, "o", 3),
        (guards.kept_snapshots, "o", 2),
        (guards.restored_once, "o", 3),
        (guards.refused_indices, "p", 4),
        (guards.own_settings, "l", 2),
        (guards.existing_settings, "l", 2),
        (guards.dropped_settings, "gm", 48),
        (guards.removed_settings, "m", 6),
        (guards.damaged, "q", 16),
        (guards.writable, "q", 3),
        (guards.in_the_source, "q", 3),
        (guards.removed_cluster, "g", 2),
    ],
)
def test_a_storm_finds_a_removed_guard(
    removal: Removal, letter: str, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    removal(monkeypatch)
    for seed in range(first, first + TRIES):
        outcome = attempt(seed, Plan(chaos=1800.0, declared=True))
        if any(violation.property in letter for violation in outcome.violations):
            return
    pytest.fail(f"not found in {TRIES} seeds")
