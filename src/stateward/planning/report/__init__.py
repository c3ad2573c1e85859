"""The report of a plan for users: status, conditions, pending removals and the state of each pool.

Everything here follows from an observation and its plan. Nothing in planning imports this room.
"""
