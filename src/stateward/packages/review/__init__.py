"""Looking before running: checks of a package, and the difference that a new version or new values would make."""
