"""Network policies: the clients that may connect to members."""
