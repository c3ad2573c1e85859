"""Snapshots of search clusters: one by hand, by a schedule, and what is restored from them."""
