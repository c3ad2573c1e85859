"""The properties of declared resources: what reaches the database, what is left there, and what stays hidden."""
