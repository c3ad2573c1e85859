"""References to packages in a registry: `oci://registry.example/team/shop:1.2.0`, or by digest.

Without TLS only if the reference says so: `oci+http://127.0.0.1:5000/shop:1.2.0`.
"""

import re
from dataclasses import dataclass, replace

SECURE = "oci://"
PLAIN = "oci+http://"
_FORM = re.compile(
    r"(?P<host>[a-z0-9.-]+(?::[0-9]{1,5})?|\[[0-9a-f:]+\](?::[0-9]{1,5})?)"
    r"/(?P<repository>[a-z0-9]+(?:[._/-]+[a-z0-9]+)*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)


class BadReference(ValueError):  # noqa: N818 - says what it is
    """A text that names nothing in a registry."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The place of a package; `digest` wins if it is set."""

    host: str
    repository: str
    tag: str = ""
    digest: str = ""
    plain: bool = False

    @property
    def named(self) -> str:
        """The name for requests to the registry: the digest, else the tag."""
        return self.digest or self.tag

    @property
    def base(self) -> str:
        """The address of the repository."""
        return f"{'http' if self.plain else 'https'}://{self.host}/v2/{self.repository}"

    def tagged(self, version: str) -> "Reference":
        """Return it with a tag, if it has neither tag nor digest; a registry's tags have no `+`."""
        return self if self.named else replace(self, tag=re.sub("[^A-Za-z0-9._-]", "-", version))

    def __str__(self) -> str:
        """Return the reference as it is written."""
        tag = f":{self.tag}" if self.tag else ""
        return f"{PLAIN if self.plain else SECURE}{self.host}/{self.repository}{tag}" + (
            f"@{self.digest}" if self.digest else ""
        )


def is_reference(text: str) -> bool:
    """Return whether a text is a reference to a registry."""
    return text.startswith((SECURE, PLAIN))


def read_reference(text: str) -> Reference:
    """Return what a text names; raises BadReference."""
    plain = text.startswith(PLAIN)
    found = _FORM.fullmatch(text.removeprefix(PLAIN if plain else SECURE))
    if not is_reference(text) or found is None:
        raise BadReference(f"{text}: must be {SECURE}HOST/REPOSITORY:TAG, or @sha256:DIGEST in place of the tag")
    return Reference(found["host"], found["repository"], found["tag"] or "", found["digest"] or "", plain)
