"""The cost of a change: unavailable members, the agent's memory, and the delay of changed data in pods."""
