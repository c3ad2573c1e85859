"""Order of resourceVersions, as far as the API defines it.

Versions of one kind are increasing decimal numbers (guaranteed by the API since Kubernetes 1.35, and true for all
earlier storage backends). Other values can only be tested for equality; the result is then "unknown", and the caller
uses the order of the server's messages.
"""


def is_older(version: str, than: str) -> bool | None:
    """Whether `version` is older than `than`; None if they cannot be compared."""
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
