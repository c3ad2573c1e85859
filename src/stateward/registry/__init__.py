"""Registries of OCI artifacts: packages are fetched from them and pushed to them.

`references` reads what a person writes, `logins` finds who the person is there, `challenges` what a registry asks for,
`client` speaks the distribution API.
"""
