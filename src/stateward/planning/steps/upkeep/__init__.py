"""What is repaired, maintained, cleaned up and reverted, apart from restarts and membership.

A bad change never blocks its own repair, and everything that was set in a database is reverted. This room may import
`rollout`, because a repair prepares a member as a restart does.
"""
