"""A world in memory: an API server, its controllers, nodes and databases, on one thread, in virtual time, by a seed.

The shipped observe, plan and act run in it; only the API client, the engine's client, the clock and the sleep are
swapped. A run is a pure function of its seed and scenario, and is repeated exactly by passing the seed again.

    timing        virtual time, and limits on the work of a run
    apiserver     the API server
    cluster       what Kubernetes does by itself: scheduler, kubelet, StatefulSets, volumes
    opensearch    the model of a search engine
    foundationdb  the model of FoundationDB; the standard library only, since the stand-in runs it as well
    world         all of these, put together
    users         users, their edits, and profiles of runs
    faults        what goes wrong
    properties    what must hold
    campaign      runs by seed, alone and many
    forecast      a smaller world for `plan`: from event to event, without an API server
"""
