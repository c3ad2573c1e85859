"""The files of a package: reading, checks, parameters, schemas, YAML with limits."""
