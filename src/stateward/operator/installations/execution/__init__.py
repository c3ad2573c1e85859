"""The execution of a plan's steps: rights, rendering, and tasks.

Templates of others are rendered in worker processes with limits (`jobs`, `worker`, `background`).
"""
