"""Crashes, stale reads, failed rounds, silent databases, and two failures at once."""
