"""Which pods restart because of which data: dependencies of workloads, keyed digests, and what holds a restart back."""
