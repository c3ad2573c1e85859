"""The security of a cluster as planning needs it: whether it is desired, the certificates, and their expiry.

Times are seconds since the epoch, 0 if unknown. It contains no secret: planning needs none.
"""

from collections.abc import Mapping

from msgspec import Struct

from stateward.api.kinds.security import SecurityStatus
from stateward.planning.model.times import rfc3339

CERTIFICATES = "certificates"
"""The input by which members are restarted that do not take new certificates while they run."""
RELOAD_PATIENCE = 900.0
"""Seconds after which a member that does not load a new certificate needs attention: it takes two minutes."""


class Protection(Struct, frozen=True):
    """A cluster's security at one instant."""

    enabled: bool
    reason: str = ""
    authority_secret: str = ""
    admin_secret: str = ""
    client_secret: str = ""
    authority_ends: float = 0.0
    member_ends: float = 0.0
    """When the certificate ends that members show each other."""
    server_ends: float = 0.0
    """When the certificate ends that clients see."""
    operator_ends: float = 0.0
    renewal: float = 0.0
    mark: str = ""
    """Tells one set of the members' certificates from the next."""
    rotation: str = ""
    """The progress of a change of the CA, in a sentence."""
    administrator: bool = False
    """Whether the first administrator was created: this happens once in a cluster's life."""
    faults: Mapping[str, str] = {}
    """What cannot be used of what was given, as sentences by field of the spec."""

    def status(self) -> SecurityStatus:
        """Return what people read of it."""
        known = [end for end in (self.member_ends, self.server_ends, self.operator_ends) if end]
        return SecurityStatus(
            enabled=self.enabled,
            reason=self.reason,
            ca_secret_name=self.authority_secret,
            admin_secret_name=self.admin_secret,
            client_secret_name=self.client_secret,
            ca_expiration_time=time_text(self.authority_ends),
            certificates_expiration_time=time_text(min(known, default=0.0)),
            renewal_time=time_text(self.renewal),
            administrator_created=self.administrator,
            certificates_digest=self.mark,
            ca_rotation=self.rotation,
        )


def time_text(moment: float) -> str:
    """Return a time for users; empty if there is none."""
    return rfc3339(moment) if moment else ""
