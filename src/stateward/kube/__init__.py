"""The runtime between Stateward and an API server: client, watch caches, work queue, apply, leases and events.

Reading and writing
    `client.Api` is the interface to an API server, `http_client.HttpApi` the real one. `resources` lists the kinds
    (`PODS`, `STATEFUL_SETS`, ...), each a `resource.Resource` with the projection it is decoded into. `errors` has one
    type per thing that a caller does differently.

Caching
    A `reflector.Reflector` keeps a `store.Store` equal to the server; `expectations.Expectations` tells whether the
    caches have caught up with our own writes, before something is destroyed.

Working
    `queue.WorkQueue` and `workers.Workers` reconcile keys; `apply.Applier` writes objects, and skips what would change
    nothing; `lease.LeaderElection` makes sure that one process works; `events.EventRecorder` tells people about it.

Time
    Whatever waits asks a `clock.Clock`; `virtual_time` has one that jumps.
"""
