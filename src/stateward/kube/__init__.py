"""The runtime between Stateward and an API server.

It has no knowledge of clusters or databases. Each package imports only those above it in this list:

timing    clocks, virtual time, backoff, rate limits
objects   projections of Kubernetes objects, and typed errors
access    kubeconfig, credentials, exec plug-ins
queue     the workqueue and its workers
client    `client.Api` is the interface to an API server, `http_client.HttpApi` the real one
cache     a reflector keeps a store equal to the server; apply skips writes that change nothing
election  one process works at a time
events    the events that `kubectl describe` shows
"""
