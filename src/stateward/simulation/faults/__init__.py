"""Faults of one run: which ones are active, when they occur, and how long they last."""
