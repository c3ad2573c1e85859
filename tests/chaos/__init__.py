"""Hours of random real faults and edits on a real cluster in the sandbox, with a check of every acknowledged write.

`python -m tests.chaos --hours 6 --seed 1` (`make chaos HOURS=6 SEED=1`). The seed decides what happens: `schedule`
draws the episodes, `faults` and `edits` carry them out, `clients` write and read all the time, and `history` judges
what they saw. The times of real processes differ, so a seed repeats what is done, in this order, and not each
millisecond.

It may import the tests' helpers for the sandbox; nothing imports it but its own tests.
"""
