"""The workqueue: a key is in one worker at a time."""
