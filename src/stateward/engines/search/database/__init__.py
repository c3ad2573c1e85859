"""Queries and commands of search engines over HTTP, and the decoding of their answers into one observation."""
