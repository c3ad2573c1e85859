"""The exporter of a FoundationDB cluster's metrics, as the operator sees it: its settings, script and containers. Pure.

In the exporter's pod a second container, from the database's image, asks for the status (`ask.sh`) and leaves each
answer in a volume that both containers share. So the operator's image needs no program of the database, and the program
always has the version that runs.
"""
