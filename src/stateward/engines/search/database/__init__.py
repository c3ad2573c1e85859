"""Queries and commands over HTTP, and their decoding into one observation."""
