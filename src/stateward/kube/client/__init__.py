"""The client of an API server: its interface and the implementation over HTTP.

Answers are decoded into projections here, so that one malformed object does not hide the others.
"""
