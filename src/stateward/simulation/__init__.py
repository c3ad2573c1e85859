"""A world in memory: an API server, its controllers, nodes and databases, on one thread, in virtual time, by a seed.

The shipped observe, plan and act run in it; only the API client, the engine's client, the clock and the sleep are
swapped. A run is a pure function of its seed and scenario, and is repeated exactly by passing the seed again. Read
`loop` for time, `apiserver` for the server, `cluster` for what Kubernetes does by itself, `opensearch` for the database
model, `faults` for what goes wrong, `invariants` for what must hold, and `run` for how a run is put together.
"""
