"""The reconciliations of snapshots, their schedules and restores.

`repositories` is what they share, and `verification` restores a schedule's newest snapshot into a throw-away cluster.
The decisions are pure: `engines.search.snapshots`.
"""
