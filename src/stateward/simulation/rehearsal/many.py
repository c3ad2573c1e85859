"""Plays the runs of many seeds, in several processes."""

import gc
import multiprocessing
from collections.abc import Callable, Sequence
from functools import partial

from stateward.simulation.rehearsal.rehearsal import Rehearsal, Run, one_run

FEW = 8
"""Runs that are played faster than further processes start."""
CHUNK = 4
"""Runs that a process gets at once: each time it gets the observation too."""


def play_many(
    rehearsal: Rehearsal, seeds: Sequence[int], jobs: int = 1, progress: Callable[[], None] = lambda: None
) -> list[Run]:
    """Return the runs of seeds in order; the result does not depend on the number of processes."""
    play = partial(one_run, rehearsal)
    found = list[Run]()
    if jobs == 1 or len(seeds) <= FEW:
        for seed in seeds:
            found.append(play(seed))
            progress()
        return found
    with multiprocessing.get_context("spawn").Pool(jobs, initializer=gc.freeze) as pool:
        for run in pool.imap(play, seeds, chunksize=CHUNK):
            found.append(run)
            progress()
    return found
