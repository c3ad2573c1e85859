"""The sandbox's machines and what connects them: namespaces, addresses, a switch with cables, relays to loopback."""
