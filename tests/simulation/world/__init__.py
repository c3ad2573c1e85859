"""The simulation itself: its contract with the real databases, its bounds, its checks, recordings of real clusters."""
