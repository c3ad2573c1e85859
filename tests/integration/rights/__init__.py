"""Rights of the operator's accounts and of tenants, on a real API server with RBAC."""
