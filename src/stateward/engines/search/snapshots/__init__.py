"""Snapshots and restores: what to do about a snapshot, a schedule, a restore, and the requests for it.

All but `requests` is pure. A decision is made from a read of the same session that then writes.
"""
