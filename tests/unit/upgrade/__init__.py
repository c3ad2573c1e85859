"""An upgrade of the operator restarts no database: objects of each release, and what later code does to them.

`python -m tests.unit.upgrade` writes the objects of the checked-out version before it is released, and `--pin` adds it
to `release/released.txt`. They are never changed afterwards.
"""
