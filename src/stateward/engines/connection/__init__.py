"""Talking to a database, whichever it is: the driver's interface, HTTP with limits, workers for large answers."""
