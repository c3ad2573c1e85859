"""The report of a plan: status, conditions, pending removals, pool states.

Everything here follows from an observation and its plan. Nothing in planning imports this room.
"""
