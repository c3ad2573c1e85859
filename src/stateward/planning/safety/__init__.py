"""Whether a member may stop now: each module protects one thing.

Quorum and availability, the last copy of data, capacity and zones, the health of the database, disruption budgets, and
the largest set of members that may go down together. This room imports the model and the facts.
"""
