"""The reconciliations of snapshots, their schedules and restores.

`repositories` is what they share. The decisions are pure: `engines.search.snapshots`.
"""
