"""Tests on a real API server: a package, so that the control plane ends with them and not with the session."""
