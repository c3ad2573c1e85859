"""What is made for a release and what is looked at before one: `python -m release`, `python -m release.audit`."""
