"""The database process: its configuration, start and stop, the restart phase, and a newer agent in this one's place."""
