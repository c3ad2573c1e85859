"""Objects inside the database: the table of their kinds, how declared and stored ones compare, and what to do.

All but `requests` is pure. A decision is made from a read of the same session that then writes.
"""
