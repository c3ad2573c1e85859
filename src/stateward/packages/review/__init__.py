"""Review before a run: checks of a package, and the difference made by a new version or new values."""
