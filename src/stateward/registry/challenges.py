"""The challenge of a registry: credentials, or a token from another server."""

import re
from dataclasses import dataclass
from urllib.parse import urlencode


@dataclass(frozen=True, slots=True)
class Challenge:
    """One challenge of a `WWW-Authenticate` header."""

    scheme: str
    parameters: dict[str, str]

    def token_address(self, scope: str) -> str:
        """Return the address of a token for a scope; empty if the challenge has none."""
        realm = self.parameters.get("realm", "")
        asked = {"service": self.parameters.get("service", ""), "scope": self.parameters.get("scope") or scope}
        query = urlencode({name: value for name, value in asked.items() if value})
        return f"{realm}{'&' if '?' in realm else '?'}{query}" if realm else ""


def challenge_in(header: str) -> Challenge:
    """Return the first challenge in a header; one without a scheme if there is none."""
    scheme, _, rest = header.strip().partition(" ")
    pairs = re.findall(r'(?<![A-Za-z_])([A-Za-z_]+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))', rest)
    # A second challenge has a `realm` of its own, which must not replace that of the first.
    return Challenge(scheme.lower(), {name.lower(): quoted or bare for name, quoted, bare in reversed(pairs)})
