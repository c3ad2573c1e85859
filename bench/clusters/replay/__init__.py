"""An API server that tells what was recorded: lists, watches, and as much of writing as settled clusters need."""
