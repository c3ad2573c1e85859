"""What the sandbox does on this machine: programs, files, locks, ports, cgroups, and records of its processes.

Comes in: what to run or to write. Goes out: processes and files that the records name, so that all can be removed.
"""
