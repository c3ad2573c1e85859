"""A probe of a container over HTTP."""

from stateward.api.values.base import Json


def probe(path: str, port: int, *, period: int, timeout: int, failures: int) -> Json:
    """Return a probe over HTTP; times in seconds."""
    return {
        "httpGet": {"path": path, "port": port, "scheme": "HTTP"},
        "periodSeconds": period,
        "timeoutSeconds": timeout,
        "failureThreshold": failures,
        "successThreshold": 1,
    }
