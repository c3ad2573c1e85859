"""What the operator's accounts and tenants may do, on a real API server with its rules."""
