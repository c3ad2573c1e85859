"""Common parts of pods of all engines: templates, digests, images, the agent."""
