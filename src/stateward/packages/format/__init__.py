"""The files of a package: reading and checking them, parameters, schemas, YAML with limits."""
