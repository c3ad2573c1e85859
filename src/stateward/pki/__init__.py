"""Certificate authorities of clusters, and the certificates that they sign.

Independent of Kubernetes and of the clock: every function takes the time, in seconds since the epoch, and texts in PEM.
`certificate` creates and reads single certificates, `authority` is a CA through its life.
"""

from stateward.pki.authority import (
    SETTLING,
    Authority,
    changed,
    followed,
    instead,
    new_authority,
    settled,
    signs_from,
    withdrawn,
    without_ended,
    young,
)
from stateward.pki.certificate import (
    DAYS,
    LEFT,
    SLACK,
    Pair,
    authorities,
    belongs,
    due,
    ends,
    fits,
    fits_one,
    issue,
    renewal,
    signs,
    sound,
    split,
)
from stateward.pki.files import authority_files, authority_of

__all__ = [
    "DAYS",
    "LEFT",
    "SETTLING",
    "SLACK",
    "Authority",
    "Pair",
    "authorities",
    "authority_files",
    "authority_of",
    "belongs",
    "changed",
    "due",
    "ends",
    "fits",
    "fits_one",
    "followed",
    "instead",
    "issue",
    "new_authority",
    "renewal",
    "settled",
    "signs",
    "signs_from",
    "sound",
    "split",
    "withdrawn",
    "without_ended",
    "young",
]
