"""The database process: its configuration, start and stop, the restart phase, and the replacement of the agent."""
