"""The timeline of a cluster: the record of its history, and how it is drawn. Pure: no I/O, no clock."""
