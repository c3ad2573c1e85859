"""An upgrade of the operator restarts no database: objects of each release, and what later code does to them.

`python -m tests.unit.upgrade` writes the objects of the checked-out version once, before it is released. They are never
changed afterwards.
"""
