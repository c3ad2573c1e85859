"""A model of FoundationDB that keeps what matters for operations, behind `fdbcli --exec` and `status json`.

Kept: processes with classes, localities and versions that do or do not talk to each other; coordinators and their
majority; configuration; transaction logs in generations, the old of which are needed until all is recovered; data on
teams over zones that moves in time; exclusions by address and locality; fault tolerance; maintenance; `kill`; and the
command line's traps. Not kept: keys, transactions, regions, TLS.

It is the standard library alone and imports nothing else of Stateward, so that the same files are the `fdbserver` and
`fdbcli` of an image for the sandbox. It reads no clock: whoever drives it says what time it is, in seconds.
"""
