"""Commands for packages and installations."""
