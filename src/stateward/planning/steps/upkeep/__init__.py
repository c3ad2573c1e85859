"""Repair, maintenance, cleanup and revert of settings.

A bad change never blocks its own repair, and every setting made in a database is reverted. This room may import
`rollout`, because a repair prepares a member as a restart does.
"""
