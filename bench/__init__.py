"""Measurements of Stateward: `python -m bench [NAME…]` prints one table with the machine's description.

The benchmark does not judge: it prints each figure next to its aim. What varies is measured as a median, and
what is compared with something is compared within one run.
"""
