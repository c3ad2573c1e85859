"""One world, put together: the API server, Kubernetes' own controllers, nodes, databases, and operator processes."""
