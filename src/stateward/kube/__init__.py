"""The runtime between Stateward and an API server: client, watch caches, work queue, leader election and events.

Nothing here knows clusters or databases. Each room imports only those above it in this list:

    timing    clocks, virtual time, backoff, rate limits
    objects   Kubernetes objects as far as they are read, and typed errors
    access    kubeconfig, credentials, exec plug-ins
    queue     the work queue and its workers
    client    `client.Api` is the interface to an API server, `http_client.HttpApi` the real one
    cache     a reflector keeps a store equal to the server; apply skips writes that change nothing
    election  one process works at a time
    events    what `kubectl describe` shows
"""
