"""Runs a plan forward in time: the shipped planner in a world where every step succeeds after its usual duration.

The forecast is much smaller than the whole simulation: a cluster of 60 members takes seconds. It starts from a real
observation, has no API server, and advances from one event to the next. A forecast has no faults; rehearsals
(`simulation/rehearsal`) add them. Pure: what comes out follows from the observation and the durations.

    durations    how long each step takes
    event_queue  what happens when
    copies       where the database places its copies
    members      the objects of members, and what Kubernetes does with them
    processes    processes that stop and start in kept pods
    world        members and database together
    forecast     the planner, run until nothing is left to do
    change       the kind of a change, from what its forecast does
"""
