"""Which of two resourceVersions is newer, as far as the API lets a client say.

Versions of one kind are decimal numbers that grow (a promise of the API since Kubernetes 1.35, and how every storage
behind it has worked before). Anything else can only be told apart from itself; the answer is then "unknown", and the
caller falls back to the order in which the server sent things.
"""


def is_older(version: str, than: str) -> bool | None:
    """Whether `version` is older than `than`; None when the two cannot be compared."""
    if version == than:
        return False
    if not (_comparable(version) and _comparable(than)):
        return None
    return int(version) < int(than)


def reaches(version: str, wanted: str) -> bool:
    """Whether `version` is certainly as new as `wanted`, or newer."""
    return is_older(version, wanted) is False


def _comparable(version: str) -> bool:
    return version.isascii() and version.isdecimal()
