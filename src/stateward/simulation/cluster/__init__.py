"""A small model of Kubernetes: controllers, scheduler, kubelets, nodes, volumes and disruption budgets.

All of them work on the store directly, in the order of events and after delays in virtual time. They make no errors.
"""
