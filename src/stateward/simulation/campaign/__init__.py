"""Runs by seed, alone and in campaigns: how a run is put together, and what many runs found."""
