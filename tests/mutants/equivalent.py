"""Changes that change nothing, each with the reason in a sentence; the key is the `key` of the change."""

EQUIVALENT: dict[str, str] = {}
