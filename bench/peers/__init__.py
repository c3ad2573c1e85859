"""Stateward beside another operator: the same work, one after the other, on one machine."""
