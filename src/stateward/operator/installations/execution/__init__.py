"""The execution of a plan's steps: whose rights are used, how templates are rendered, and what a step's tasks do.

Templates of others are rendered in worker processes with limits (`jobs`, `worker`, `background`).
"""
