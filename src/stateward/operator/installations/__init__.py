"""The controller of installations: runs plans of packages, and reverts drift.

`controller` watches and queues, `reconcile` is one round of one installation, `run` continues its plan.

    objects    what an installation has made: written, watched, removed
    execution  steps and tasks, rendered in worker processes and done with the installation's own rights
"""
