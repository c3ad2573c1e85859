"""The execution of a plan's steps: the rights they use, the rendering of templates, and the tasks.

Templates of others are rendered in worker processes with limits (`jobs`, `worker`, `background`).
"""
