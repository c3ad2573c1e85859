"""Queries and commands through `fdbcli`, and the meaning of the status."""
