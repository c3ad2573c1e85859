"""Measurements of Stateward: `python -m bench [NAME…]` prints one table with the machine's description.

Nothing here judges: a figure stands next to its aim, and a person compares. What varies is measured as a median, and
what is compared with something is compared within one run.
"""
