"""Queries and commands of FoundationDB through its command line, and the meaning of its status."""
