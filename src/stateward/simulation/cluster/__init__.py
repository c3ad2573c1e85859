"""What Kubernetes does by itself: controllers, scheduler, nodes, volumes and budgets, each as small as it can be.

All of them work on the store directly, in the order of events and after delays in virtual time; none makes mistakes.
"""
