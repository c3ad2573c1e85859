"""The reference page of the command line, generated from the commands themselves."""
