"""The runtime between Stateward and an API server: client, watch caches, work queue, apply, leases and events."""
