"""A world in memory: API server, controllers, nodes and databases, on one thread, in virtual time, drawn by a seed.

The shipped operator runs in it; only the API client, the engine's client, the clock and the sleep are replaced. A run
is a pure function of its seed and its plan, so the same seed repeats it exactly.

    timing        virtual time, and limits on the work of a run
    apiserver     the API server
    cluster       a small model of Kubernetes: scheduler, kubelets, StatefulSets, volumes
    opensearch    the model of a search engine
    foundationdb  the model of FoundationDB; the standard library only, because the stand-in runs it too
    world         all of these together, and operator processes
    users         users, their edits, and profiles of runs
    faults        faults and their schedule
    properties    invariants and the goal
    campaign      runs by seed, one or many
    interactive   one world that a person drives
    rehearsal     many runs of a change in the smaller world of `stateward.forecast`, with other timings and faults
"""
