"""A model of FoundationDB for operations, behind `fdbcli --exec` and `status json`.

Modelled: processes with classes, localities and versions that do or do not talk to each other; coordinators and their
majority; configuration; transaction logs in generations, where old generations are needed until recovery is complete;
data on teams over zones that moves in time; exclusions by address and locality; fault tolerance; maintenance; `kill`;
and the command line's traps. Not modelled: keys, transactions, regions, TLS.

It uses the standard library alone and imports nothing else of Stateward, so that the same files are the `fdbserver` and
`fdbcli` of an image for the sandbox. It reads no clock: the caller passes the time, in seconds.
"""
