"""Registries of OCI artifacts: packages are fetched and pushed.

`references` parses a user's reference, `logins` finds the user's credentials, `challenges` parses a registry's
challenge, `client` implements the distribution API.
"""
