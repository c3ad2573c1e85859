"""The database process: configuration, start and stop, restart phase, replacement of the agent."""
