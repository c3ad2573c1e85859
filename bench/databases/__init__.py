"""What a change costs a database: time without a member, the agent's memory, when changed data arrives in a pod."""
