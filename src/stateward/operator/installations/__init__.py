"""The controller of installations: carries out the plans of packages, and keeps what they made as it should be.

`controller` watches and queues, `reconcile` is one round of one installation, `run` continues its plan.

    objects    what an installation has made: written, watched, removed
    execution  steps and tasks, rendered in worker processes and done with the installation's own rights
"""
