"""Restart control for any workload that asks for it: its pods start anew when data that they use has changed."""
